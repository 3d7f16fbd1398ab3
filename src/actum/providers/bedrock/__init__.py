"""Amazon Bedrock: Converse and ConverseStream. Encode, decode, client."""
