"""Finds the data files that headway ships: in a wheel beside the code, in a checkout at the top level."""

from pathlib import Path

from headway.errors import RequestWrong

_PACKAGE = Path(__file__).resolve().parent.parent


def examples_folder() -> Path:
    """Give the folder of the bundled examples. Raises: RequestWrong when the installation lacks it."""
    for folder in (_PACKAGE / "_data" / "examples", _PACKAGE.parent.parent / "examples"):
        if folder.is_dir():
            return folder
    raise RequestWrong("the bundled examples are missing", str(_PACKAGE), "install headway anew")


def spec_schema_path() -> str:
    """Give the path of the file that describes every key of a spec, as this installation has it."""
    name = "optimize-spec.schema.json"
    places = (_PACKAGE / "_data" / "schemas" / name, _PACKAGE.parent.parent / "schemas" / name)
    return next((str(place) for place in places if place.is_file()), name)


def example_names() -> tuple[str, ...]:
    """Name the bundled examples."""
    return tuple(sorted(p.name for p in examples_folder().iterdir() if (p / "spec.yaml").is_file()))
