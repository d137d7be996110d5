"""Which files a spec is made of, and which format they have: from a file or a directory.

A plan that an agent wrote, `artifacts/PLAN.toml`, is read as any other, and never followed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fleet.errors import BadInput, InvalidTask
from fleet.files.agent_place import AgentPlace
from fleet.files.safe_read import read_bounded
from fleet.plan.check_plan import check_plan
from fleet.plan.neutral_plan import FORMAT, Plan, SpecFile, SpecText
from fleet.plan.readers import sddw, spec_kit
from fleet.plan.readers.beads_graph import read_beads_graph
from fleet.plan.readers.checklist import read_checklist
from fleet.plan.readers.kiro import read_kiro
from fleet.plan.readers.markdown_boxes import boxes_of
from fleet.plan.readers.neutral import load_json, read_neutral
from fleet.plan.readers.openspec import read_openspec
from fleet.plan.readers.sddw import read_sddw
from fleet.plan.readers.spec_kit import read_spec_kit
from fleet.plan.readers.task_master import read_task_master
from fleet.schemas.policy import PLAN_FILE

#: No list of tasks is larger, and none that an agent proposes; what is larger is something else.
LARGEST, _LARGEST_PROPOSED = 8 << 20, 1 << 19
#: Files of one spec.
_MOST_FILES = 1000

READERS: Mapping[str, Callable[[SpecText], Plan]] = {
    FORMAT: read_neutral,
    "sddw": read_sddw,
    "spec-kit": read_spec_kit,
    "openspec": read_openspec,
    "kiro": read_kiro,
    "task-master": read_task_master,
    "beads": read_beads_graph,
    "checklist": read_checklist,
}

#: Documents that a format has beside its tasks, from the file with the tasks on.
_BESIDE: Mapping[str, Sequence[str]] = {
    "sddw": ("../../requirements.md", "../analysis.md"),
    "spec-kit": ("spec.md", "plan.md", "data-model.md", "research.md"),
    "openspec": ("proposal.md", "design.md"),
    "kiro": ("requirements.md", "design.md"),
}

#: Where specs lie below a project's directory.
_PLACES = (
    ".sddw/*/design/tasks/task-*.md",
    "specs/*/tasks.md",
    ".specify/specs/*/tasks.md",
    "openspec/changes/*/tasks.md",
    ".kiro/specs/*/tasks.md",
    ".taskmaster/tasks/tasks.json",
    "PLAN.toml",
    "design/tasks/task-*.md",
    "tasks/task-*.md",
    "task-*.md",
    "*/tasks.md",
    "tasks.md",
    "tasks/tasks.json",
    "tasks.json",
)
_HINT = f"Formats: {', '.join(READERS)}. Name one with --format."


class FoundSpec(Struct, frozen=True, kw_only=True):
    """A spec on disk: the format, and what was read."""

    #: The file with the tasks; of sddw, the directory.
    path: Path
    format: str
    text: SpecText


def find_spec(path: Path, *, base: Path, format_: str = "", tag: str = "") -> FoundSpec:
    """The spec that a person named: a file, or a directory with one spec. Raises BadInput.

    `base` is the project's directory: names of files are from there on, wherever a person stands.
    """
    if format_ and format_ not in READERS:
        raise BadInput(f"there is no format {format_!r}", hint=_HINT)
    main = _main_file(path, base)
    if sddw.NAME.fullmatch(main.name) and format_ in ("", "sddw"):
        return _sddw(main.parent, base)
    file = read_spec_file(main, base)
    found = format_ or detect(main.resolve(), file)
    beside = [main.parent / name for name in _BESIDE.get(found, ())]
    return FoundSpec(
        path=main,
        format=found,
        text=SpecText(
            title=_title(main, found), files=(file,), beside=_documents(beside, base), tag=tag
        ),
    )


def read_plan(spec: FoundSpec) -> Plan:
    """The plan that the format's reader makes of a spec."""
    return READERS[spec.format](spec.text)


def read_proposed_plan(task_dir: Path, *, limit: int) -> Plan:
    """The plan among a task's artifacts. Raises BadInput or InvalidTask with file and line."""
    data = AgentPlace(task_dir).read(f"artifacts/{PLAN_FILE}", _LARGEST_PROPOSED)
    if not data:
        raise BadInput(f"there is no {PLAN_FILE} among the artifacts")
    file = SpecFile(name=PLAN_FILE, text=_decoded(data, PLAN_FILE))
    plan = read_neutral(SpecText(title="", files=(file,)))
    if not plan.title.strip():
        raise BadInput(f"{PLAN_FILE}:1: the plan has no title")
    return check_plan(plan, limit=limit, name=PLAN_FILE)


def detect(path: Path, file: SpecFile) -> str:
    """The format of a file, by place and content. Raises BadInput."""
    text, where = file.text, path.as_posix()
    if path.suffix == ".toml":
        return FORMAT
    if path.suffix == ".json" or text.lstrip()[:1] == "{":
        return _detect_json(file)
    if "/.kiro/" in where:
        return "kiro"
    if "/openspec/" in where:
        return "openspec"
    boxes = boxes_of(text)
    if not boxes:
        raise BadInput(f"{file.name} is no spec that fleet knows: it has no check box", hint=_HINT)
    if any(spec_kit.TASK.fullmatch(box.text) for box in boxes):
        return "spec-kit"
    if re.search(r"^\s*-? ?_(Requirements|Depends|Boundary):", text, re.MULTILINE):
        return "kiro"
    return "checklist"


def _detect_json(file: SpecFile) -> str:
    data = load_json(file)
    if data.get("format") == FORMAT or "task" in data:
        return FORMAT
    if "nodes" in data:
        return "beads"
    if "tasks" in data or any(isinstance(each, dict) and "tasks" in each for each in data.values()):
        return "task-master"
    raise BadInput(f"{file.name} is no spec that fleet knows", hint=_HINT)


def _main_file(path: Path, base: Path) -> Path:
    """The file that a person named, or the one spec in the directory."""
    if not path.exists():
        raise BadInput(f"there is no {path}", hint="Name a spec: a file, or the directory of one.")
    if not path.is_dir():
        return path
    found: dict[Path, Path] = {}
    for pattern in _PLACES:
        for file in sorted(path.glob(pattern))[:_MOST_FILES]:
            named = sddw.NAME.fullmatch(file.name)
            if file.is_file() and (named or not file.name.startswith("task-")):
                found.setdefault(file.parent if named else file, file)
    if not found:
        raise BadInput(
            f"{path} holds no spec that fleet knows",
            hint=f"Looked for: {', '.join(_PLACES[:7])}. Or name the file.",
        )
    if len(found) > 1:
        shown = [shown_path(each, base) for each in found]
        listed = "\n".join(f"  {each}" for each in shown[:20])
        more = f"\n  … and {len(shown) - 20} more" if len(shown) > 20 else ""
        raise BadInput(
            f"{path} holds {len(shown)} specs:\n{listed}{more}", hint="Name one of them."
        )
    return next(iter(found.values()))


def _sddw(folder: Path, base: Path) -> FoundSpec:
    files = [file for file in folder.iterdir() if sddw.NAME.fullmatch(file.name)]
    if len(files) > _MOST_FILES:
        raise BadInput(
            f"{shown_path(folder, base)} holds {len(files)} files of tasks;"
            f" {_MOST_FILES} is the most",
            hint="Split the spec into several directories.",
        )
    files.sort(key=_number)
    beside = [folder / name for name in _BESIDE["sddw"]]
    return FoundSpec(
        path=folder,
        format="sddw",
        text=SpecText(
            title=_title(folder / "task-1.md", "sddw"),
            files=tuple(read_spec_file(file, base) for file in files),
            beside=_documents(beside, base),
        ),
    )


def _number(file: Path) -> tuple[int, str]:
    found = sddw.NAME.fullmatch(file.name)
    return (int(found[1]) if found else 0, file.name)


def _title(file: Path, format_: str) -> str:
    """What the spec is about: the name of the feature's directory where the format has one."""
    parents = file.resolve().parents
    if format_ == "sddw" and parents[0].name == "tasks" and parents[1].name == "design":
        return parents[2].name
    if format_ in ("sddw", "spec-kit", "openspec", "kiro"):
        return parents[0].name
    if format_ == "task-master":
        outer = [each for each in parents if each.name not in ("tasks", ".taskmaster")]
        return outer[0].name
    return file.stem


def _documents(files: Sequence[Path], base: Path) -> tuple[SpecFile, ...]:
    return tuple(read_spec_file(file, base) for file in files if file.is_file())


def shown_path(path: Path, base: Path) -> str:
    """The path from the project's directory on, if below that; else the whole path."""
    full, top = path.resolve(), base.resolve()
    return str(full.relative_to(top)) if full.is_relative_to(top) else str(full)


def read_spec_file(path: Path, base: Path) -> SpecFile:
    """The text of a file. Raises BadInput for what is no text, or far too large, and for a link out
    of the project: a spec may have come with a project, and agents are told what it says.
    """
    name = shown_path(path, base)
    inside = any(path.absolute().is_relative_to(each) for each in (base, base.resolve()))
    if inside and not path.resolve().is_relative_to(base.resolve()):
        raise BadInput(
            f"{path.name} is reached by a link that leads out of the project, to {name}",
            hint="If that file is meant, name it itself.",
        )
    try:
        if not path.is_file():
            raise BadInput(f"{name} is not a plain file")
        size = path.stat().st_size
        if size > LARGEST:
            raise BadInput(
                f"{name} has {size / (1 << 20):.0f} MB, and a spec has at most {LARGEST >> 20} MB",
                hint="Name the file that holds the tasks.",
            )
        data = read_bounded(path.resolve(), LARGEST) or b""
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}") from error
    except InvalidTask as error:
        raise BadInput(error.message) from error
    return SpecFile(name=name, text=_decoded(data, name))


def _decoded(data: bytes, name: str) -> str:
    """The text of a file's bytes. Raises BadInput for what is no text."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{name}:{line}: this is not UTF-8", hint="A spec is a text file.") from None
    if "\0" in text:
        raise BadInput(f"{name} is not a text file", hint="A spec is a text file.")
    return text.replace("\r\n", "\n")
