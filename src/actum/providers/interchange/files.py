"""Images and documents by their media types, and `data:` addresses that hold them."""

import base64
import binascii
from typing import Final, get_args

from actum.base.checks import refuse
from actum.messages.parts import DocumentFormat, DocumentPart, ImageFormat, ImagePart

_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
MEDIA_TYPES: Final[dict[DocumentFormat, str]] = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
    "doc": "application/msword",
    "docx": f"{_OFFICE}wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": f"{_OFFICE}spreadsheetml.sheet",
}
_IMAGES: Final[dict[str, ImageFormat]] = {f"image/{each}": each for each in get_args(ImageFormat)}
_DOCUMENTS: Final = {media: name for name, media in MEDIA_TYPES.items()}


def image_format(path: str, media: str) -> ImageFormat:
    """The format of an image's media type. Raises InvalidValue for one that no part holds."""
    if media not in _IMAGES:
        raise refuse(path, media, f"is one of {', '.join(_IMAGES)}")
    return _IMAGES[media]


def document_format(path: str, media: str) -> DocumentFormat:
    """The format of a document's media type. Raises InvalidValue for one that no part holds."""
    if media not in _DOCUMENTS:
        raise refuse(path, media, f"is one of {', '.join([*_IMAGES, *_DOCUMENTS])}")
    return _DOCUMENTS[media]


def file_of(
    path: str, media: str, *, data: bytes | None = None, uri: str | None = None, name: str | None = None
) -> ImagePart | DocumentPart:
    """The image or document of a media type, by its bytes or its address."""
    if media in _IMAGES:
        return ImagePart(bytes=data, uri=uri, format=_IMAGES[media])
    return DocumentPart(bytes=data, uri=uri, format=document_format(path, media), name=name)


def data_of(path: str, address: str) -> tuple[str, bytes] | None:
    """The media type and the bytes in a `data:` address; None for an address that leads elsewhere."""
    if not address.lower().startswith("data:"):
        return None
    media, comma, spelled = address[len("data:") :].partition(",")
    if not comma or not media.endswith(";base64"):
        raise refuse(path, address, "is an address of base64 data")
    try:
        return media.removesuffix(";base64"), base64.b64decode(spelled, validate=True)
    except (binascii.Error, ValueError):
        raise refuse(path, address, "is an address of base64 data") from None


def image_at(path: str, address: str, metadata: dict[str, object] | None = None) -> ImagePart:
    """The image at an address, or in it."""
    held = data_of(path, address)
    if held is None:
        return ImagePart(uri=address, metadata=metadata)
    return ImagePart(bytes=held[1], format=image_format(path, held[0]), metadata=metadata)
