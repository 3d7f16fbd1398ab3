"""Google's Gemini: generateContent and its stream. Encode, decode, client."""
