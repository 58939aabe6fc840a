"""Writes the bill of materials: the packages, what is compiled into them, what they need."""

import datetime
import uuid
from collections.abc import Sequence

import make_wheel
import notices
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from release.packages import Package, Release, ReleaseError, sha256

FILE = "bill-of-materials.cdx.json"
_FORMAT = SchemaVersion.V1_6


def _component(purl: str, package: Package | None = None, licence: str = "") -> Component:
    """A package of this release, or another one that its URL names."""
    parsed = PackageURL.from_string(purl)
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=sha256(package.file))] if package else []
    return Component(
        type=ComponentType.LIBRARY,
        name=parsed.name,
        group=parsed.namespace,
        version=parsed.version,
        bom_ref=purl,
        purl=parsed,
        hashes=hashes,
        licenses=[LicenseExpression(licence)] if licence else [],
    )


def write(release: Release, packages: Sequence[Package], minors: Sequence[str]) -> None:
    """Writes the bill of materials in CycloneDX's JSON.

    Args:
      release: The release.
      packages: Its packages.
      minors: The minor versions of TensorFlow that the libraries are compiled for.

    Raises:
      ReleaseError: CycloneDX's schema refuses it.
    """
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{release.version} {release.time}"))
    bom.metadata.timestamp = datetime.datetime.fromisoformat(release.time.replace("Z", "+00:00"))
    whole = _component(f"pkg:generic/tensorflow_ext@{release.version}")
    whole.bom_ref.value = "release"
    bom.metadata.component = whole
    compiled = [
        _component(f"pkg:generic/{name}", licence=licence)
        for name, licence in notices.SECTIONS.items()
    ]
    compiled += [
        _component(f"pkg:generic/{name}", licence="Apache-2.0") for name in ("abseil-cpp", "xla")
    ]
    if any(make_wheel.has_gpu_kernels(release.root, minor) for minor in minors):
        compiled.append(_component("pkg:generic/cuda-runtime"))
    headers = [
        _component(f"pkg:generic/tensorflow@{minor}", licence="Apache-2.0") for minor in minors
    ]
    components = {str(component.bom_ref): component for component in compiled + headers}
    for package in packages:
        components[package.purl] = _component(package.purl, package, "Apache-2.0")
        for purl in package.needs:
            components.setdefault(purl, _component(purl))
    bom.components.update(components.values())
    bom.register_dependency(whole, [components[package.purl] for package in packages])
    for package in packages:
        needs = [components[purl] for purl in package.needs]
        # The jar has the library for the last TensorFlow alone.
        contains = {".whl": compiled + headers, ".jar": compiled + headers[-1:]}
        needs += contains.get(package.file.suffix, [])
        bom.register_dependency(components[package.purl], needs)
    text = make_outputter(bom, OutputFormat.JSON, _FORMAT).output_as_string(indent=1)
    refused = JsonStrictValidator(_FORMAT).validate_str(text)
    if refused is not None:
        raise ReleaseError(f"{FILE}: {refused}")
    (release.out / FILE).write_text(f"{text}\n")
