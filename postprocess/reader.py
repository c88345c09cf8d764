"""The only module that knows the layout of the HDF5 files. Everything else works on the dataclasses below.

A run is a folder runs/<name>/: either one history.h5 directly in it, or one folder per sweep member, each with its own
history.h5. Files are opened read-only and without locks, so that a run in progress is
never disturbed and file systems without flock work.

evaluation.h5 holds the one validation of a checkpoint, made by the job "evaluate"; it is read as a member whose only
validation is that one.

tasks.h5 (job "tasks") is read as a member without any validation, and its tasks.

capacity.h5 (job "capacity") holds embedding matrices, cell_*.h5 (job "packing") one cell of a packing experiment each; they
may lie in a run's folder or anywhere else.

Shapes: V vocabulary, D model width, N logged steps, M validations, B bins of token frequency. Losses are in nats per
token.
"""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from postprocess.guard.failure import FILES, Failure, one_line, printable
from postprocess.guard.program import warn_once

from . import stored
from .stored import numbers, plain, texts, whole_numbers

# format -> oldest and newest version, what is wrong with an older one
VERSIONS = {"lexikos-history": (0, 2, ""), "lexikos-evaluation": (0, 1, ""), "lexikos-capacity": (0, 2, ""),
            "lexikos-packing": (0, 1, ""), "lexikos-tasks": (2, 2, "holds no metrics; score the requests again")}
# Columns that a group with any has, and those of whole numbers.
REQUIRED = {"history": ("step", "tokens", "train_loss"), "validation": ("step", "tokens", "loss"),
            "frequency": ("tokens", "lower", "upper", "ids", "targets", "loss"),
            "geometry": ("tokens", "matrix", "epsilon", "epsilon_centred")}
LARGEST = 1 << 48  # rows, columns, vectors
WHOLE = ("step", "tokens", "targets", "ids", "matrix")
HISTORY, EVALUATION, TASKS, CAPACITY, CELLS = "history.h5", "evaluation.h5", "tasks.h5", "capacity.h5", "cell_*.h5"


@dataclass
class Column:
    """One column of a history: values [N or M], and the unit and definition that the executable wrote with it."""

    values: np.ndarray
    unit: str
    definition: str


@dataclass
class Member:
    """One training run: the attributes of its history.h5 (or evaluation.h5), and every column of it by "group/name"."""

    name: str
    folder: Path
    path: Path
    attributes: dict[str, object]
    columns: dict[str, Column]

    def text(self, name: str) -> str:
        """A string attribute, or "unknown" if it is absent or empty; on one line but for the deck."""
        found = str(self.attributes.get(name, ""))
        return (found if name == "deck" else one_line(found)) or "unknown"

    def number(self, name: str) -> float:
        """A numeric attribute, NaN if it is absent."""
        try:
            return float(self.attributes.get(name, math.nan))
        except (TypeError, ValueError):
            return math.nan

    @property
    def finished(self) -> bool:
        return self.attributes.get("status") == "finished"

    def column(self, name: str) -> np.ndarray:
        """Values of a column, such as "validation/loss"; empty if there is none (yet, or in the file's version).

        All columns of a group have one length: history/* one row a logged step [N], validation/* one a validation [M],
        frequency/* one a bin of each validation in turn, geometry/* one a matrix of each measurement in turn.
        """
        return self.columns[name].values if name in self.columns else np.empty(0)


@dataclass
class TaskMetric:
    """One metric of one task: a = `numerators` and w = `weights` [documents]; sum(a) / sum(w), or the exponential of it.

    `chance`: mean accuracy of a blind choice, NaN where there is none.
    """

    name: str
    numerators: np.ndarray
    weights: np.ndarray
    exponential: bool
    chance: float


@dataclass
class Task:
    """One evaluation task; `asked`: arrays that are the same where the same was asked."""

    name: str
    description: str
    metrics: list[TaskMetric]
    asked: tuple[np.ndarray, ...]


@dataclass
class RowSet:
    """Cosines of all pairs of one set of rows of a matrix: its attributes and `histogram` [bins over -1 to 1]."""

    name: str
    attributes: dict[str, object]
    histogram: np.ndarray | None

    def number(self, name: str) -> float:
        """A numeric attribute, NaN if it is absent (as most are where there is no pair of rows)."""
        value = self.attributes.get(name, math.nan)
        return float(value) if isinstance(value, (int, float)) else math.nan


@dataclass
class Matrix:
    """One embedding matrix of a capacity.h5; counts of rows by why they were set apart."""

    path: Path
    file: str
    side: str
    element: str
    vocabulary: int
    width: int
    padding: int
    zero: int
    untrained: int
    outliers: int
    token_cosine: tuple[float, float] | None  # mean and standard deviation of a token's input with its output vector
    sets: dict[str, RowSet]


@dataclass
class Capacity:
    """One capacity.h5: the resolved deck and the matrices in the file's order."""

    path: Path
    deck: str
    matrices: list[Matrix]


@dataclass
class Cell:
    """One packing of `k` vectors in `d` dimensions: the result, how it was made, and its history by column name."""

    path: Path
    kind: str
    d: int
    k: int
    p: int
    repeats: int
    learning_rate: float
    seed: int
    epsilon: float
    seconds: float
    history: dict[str, Column]


@dataclass
class Run:
    """All members of a run, in the order in which figures and tables show them."""

    folder: Path
    members: list[Member]

    @property
    def name(self) -> str:
        return printable(self.folder.resolve().name)


def read_run(folder: Path) -> Run:
    """Every member of the run in `folder`. Folders without a history.h5 (not started) are passed over."""
    folders = _member_folders(folder, HISTORY)
    if not folders:
        raise Failure(FILES, f"{folder}: no {HISTORY} in it or in a folder of it; has the run started?")
    return Run(folder, _told_apart([read_member(path) for path in folders]))


def _told_apart(members: list[Member]) -> list[Member]:
    """Names unlike one another: copies of a run have the same in their files."""
    counts = Counter(member.name for member in members)
    for member in members:
        if counts[member.name] > 1:
            member.name = one_line(f"{member.name} ({member.folder.name})")
    return members


def has_run(folder: Path) -> bool:
    """Whether a training run has begun in `folder`."""
    return folder.is_dir() and bool(_member_folders(folder, HISTORY))


def read_evaluations(folder: Path) -> tuple[Run, list[str]]:
    """(the run's members that have an evaluation.h5, as that file has them; names of the folders that have none)."""
    folders = _member_folders(folder, EVALUATION)
    if not folders:
        raise Failure(FILES, f"{folder}: no {EVALUATION} in any member; the job \"evaluate\" writes it")
    missing = [printable(path.name) for path in _member_folders(folder, HISTORY) if path not in folders]
    return Run(folder, _told_apart([read_member(path, EVALUATION) for path in folders])), missing


def what_was_evaluated(run: Run) -> dict[str, list[str]]:
    """What evaluation.h5 says it holds -> names of the members that say so."""
    found: dict[str, list[str]] = {}
    for member in run.members:
        found.setdefault(f"{member.text('checkpoint')}; {member.text('definition')}", []).append(member.name)
    return found


def has_tasks(folder: Path) -> bool:
    """Whether a member of the run in `folder` has a tasks.h5."""
    return folder.is_dir() and bool(_member_folders(folder, TASKS))


def read_tasks(folder: Path) -> tuple[Run, dict[str, list[Task]], list[str]]:
    """(the run's members that have a tasks.h5; the tasks of each, by the member's folder; names of those that have
    none)."""
    folders = _member_folders(folder, TASKS)
    if not folders:
        raise Failure(FILES, f"{folder}: no {TASKS} in it or in a folder of it; the job \"tasks\" writes it")
    missing = [printable(path.name) for path in _member_folders(folder, HISTORY) if path not in folders]
    found = {str(path): _tasks(path / TASKS) for path in folders}
    return Run(folder, _told_apart([read_member(path, TASKS) for path in folders])), found, missing


def _tasks(path: Path) -> list[Task]:
    return stored.read(path, "lexikos-tasks", VERSIONS["lexikos-tasks"], _parsed_tasks)


def _parsed_tasks(file: h5py.File) -> list[Task]:
    names, descriptions = (texts(file[f"tasks/{name}"]) for name in ("name", "description"))
    documents, gold, firsts, code_points = (whole_numbers(file[name]) for name in (
        "documents/task", "documents/gold", "documents/first_request", "requests/code_points"))
    if not names or not documents.size == gold.size == firsts.size - 1 or firsts[0] != 0 or firsts[-1] != code_points.size \
            or np.any(np.diff(firsts) < 0):
        raise ValueError("documents and requests do not fit together")
    metrics = _task_metrics(file["metrics"])
    found = []
    for number, (name, description) in enumerate(zip(names, descriptions)):
        own = np.flatnonzero(documents == number)
        mine = [metric for task, metric in metrics if task == number]
        if not mine or not own.size or np.any(np.diff(own) != 1) or any(metric.numerators.size != own.size for metric in mine):
            raise ValueError(f"documents of {name}")
        begins = firsts[own[0] : own[-1] + 2]
        found.append(Task(one_line(name), description, mine,
                          (gold[own], np.diff(begins), code_points[begins[0] : begins[-1]])))
    return found


def _task_metrics(group: h5py.Group) -> list[tuple[int, TaskMetric]]:
    """(row of /tasks, metric) in the file's order."""
    task, first, exponential = (whole_numbers(group[name]).tolist() for name in ("task", "first", "exponential"))
    chance, numerator, weight = (numbers(group[name]).astype(float) for name in ("chance", "numerator", "weight"))
    names = texts(group["name"])
    if not len(names) == len(task) == len(exponential) == chance.size == len(first) - 1 or numerator.size != weight.size \
            or first != sorted(first) or first[0] != 0 or first[-1] != weight.size:
        raise ValueError("metrics do not fit together")
    found = []
    for i, name in enumerate(names):
        own = slice(first[i], first[i + 1])
        if not (np.all(weight[own] >= 0.0) and 0.0 < weight[own].sum() < math.inf):
            raise ValueError(f"weights of {name}")
        found.append((task[i], TaskMetric(one_line(name), numerator[own], weight[own], bool(exponential[i]), float(chance[i]))))
    return found


def _member_folders(folder: Path, name: str) -> list[Path]:
    """The folders with a file `name`: the run's own, or those of its members. Both is said: one may be left of another
    run."""
    if not folder.is_dir():
        raise Failure(FILES, f"{folder}: no such run folder")
    members = sorted(path.parent for path in folder.glob(f"*/{name}"))
    if not (folder / name).is_file():
        return members
    if members and name == HISTORY:
        others = ", ".join(printable(path.name) for path in members)
        warn_once(f"{folder}/{name} is read, and not those of the folders in it: {others}; for them remove it, or name one")
    return [folder]


def read_member(folder: Path, name: str = HISTORY) -> Member:
    """Attributes and columns of one history.h5 or evaluation.h5; of a tasks.h5 the attributes."""
    path = folder / name
    kind = f"lexikos-{path.stem}"
    attributes, columns = stored.read(path, kind, VERSIONS[kind], _attributes if name == TASKS else _attributes_and_columns)
    called = str(attributes.get("member") or "") or folder.resolve().name
    return Member(one_line(called), folder, path, attributes, columns)


def _attributes(file: h5py.File) -> tuple[dict[str, object], dict[str, Column]]:
    return stored.attributes(file), {}


def _attributes_and_columns(file: h5py.File) -> tuple[dict[str, object], dict[str, Column]]:
    groups = [group for group in file if isinstance(file[group], h5py.Group)] + [name for name in REQUIRED if name in file]
    return stored.attributes(file), {f"{group}/{key}": column for group in dict.fromkeys(groups)
                                     for key, column in _columns(file, group).items()}


def capacity_files(folder: Path) -> list[Path]:
    """Every capacity.h5 in a folder and in the folders of it."""
    return sorted(folder.glob(CAPACITY)) + sorted(folder.glob(f"*/{CAPACITY}"))


def read_capacity(path: Path) -> Capacity:
    """One capacity.h5, or the one in the folder `path`."""
    path = path / CAPACITY if path.is_dir() else path

    def parse(file: h5py.File) -> Capacity:
        groups = file["matrices"]
        matrices = [_matrix(path, groups[name]) for name in sorted(groups, key=int)]
        return Capacity(path, str(plain(file.attrs.get("deck", ""))), matrices)

    found = stored.read(path, "lexikos-capacity", VERSIONS["lexikos-capacity"], parse)
    if not found.matrices:
        raise Failure(FILES, f"{path}: no matrix in it")
    return found


def _matrix(path: Path, group: h5py.Group) -> Matrix:
    attributes = stored.attributes(group)
    cosines = group.get("token_cosines")
    pair = None if cosines is None else tuple(float(plain(cosines.attrs[key])) for key in ("mean", "deviation"))
    zero, untrained, outliers = (len(group[f"rows_{kind}"]) for kind in ("zero", "untrained", "outlier"))
    if not (0 < int(attributes["vocabulary_size"]) < LARGEST and 0 < int(attributes["width"]) < LARGEST):
        raise ValueError(f"{group.name} has {attributes['vocabulary_size']} rows and {attributes['width']} columns")
    sets = {name: _row_set(name, item) for name, item in group.items() if isinstance(item, h5py.Group)}
    if "raw" not in sets:
        raise KeyError(f"no group {group.name}/raw")
    return Matrix(path, one_line(str(attributes["file"])), one_line(str(attributes["side"])),
                  one_line(str(attributes["element"])),
                  int(attributes["vocabulary_size"]), int(attributes["width"]), int(attributes["rows_padding"]), zero,
                  untrained, outliers, pair, sets)


def _row_set(name: str, group: h5py.Group) -> RowSet:
    counts = whole_numbers(group["histogram"]) if "histogram" in group else None
    if counts is not None and (counts.size == 0 or counts.min() < 0):
        raise ValueError(f"{group.name}/histogram holds no counts")
    attributes = stored.attributes(group)
    if "entropy_rank_singular" in attributes:  # its name in version 1
        attributes["effective_rank"] = attributes.pop("entropy_rank_singular")
    return RowSet(name, attributes, counts)


def cell_files(folder: Path) -> list[Path]:
    """Every cell_*.h5 in a folder and in the folders of it."""
    return sorted(folder.glob(CELLS)) + sorted(folder.glob(f"*/{CELLS}"))


def read_cells(folder: Path) -> list[Cell]:
    """Every cell of the packing experiments in `folder`, by kind, d and k."""
    if not folder.is_dir():
        raise Failure(FILES, f"{folder}: no such folder")
    files = cell_files(folder)
    if not files:
        raise Failure(FILES, f"{folder}: no {CELLS} in it or in a folder of it; the job \"packing\" writes them")
    return sorted((read_cell(path) for path in files), key=lambda cell: (cell.kind, cell.d, cell.k))


def read_cell(path: Path) -> Cell:
    def parse(file: h5py.File) -> Cell:
        found = stored.attributes(file)
        return Cell(path, one_line(str(found["kind"])), *(int(found[key]) for key in ("dimension", "count", "power", "repeats")),
                    float(found["learning_rate"]), int(found["seed"]), float(found["epsilon"]), float(found["seconds"]),
                    {name: Column(numbers(item), "", "") for name, item in file.get("history", {}).items()})

    cell = stored.read(path, "lexikos-packing", VERSIONS["lexikos-packing"], parse)
    if not (0 < cell.d < LARGEST and 1 < cell.k < LARGEST and 0.0 < cell.epsilon < math.inf):
        raise Failure(FILES, f"{path}: no cell has dimension {cell.d}, count {cell.k} and epsilon {cell.epsilon}")
    return cell


def _columns(file: h5py.File, group: str) -> dict[str, Column]:
    """The columns of a group, cut to their common length: a run in progress may be a row ahead in some."""
    items = file.get(group, {})
    if not isinstance(items, (h5py.Group, dict)):
        raise ValueError(f"/{group} is no group")
    found = {printable(name): (_values(group, name, item), item) for name, item in items.items()
             if group in REQUIRED or isinstance(item, h5py.Dataset) and item.ndim == 1 and item.dtype.kind in "fiu"}
    length = min((values.size for values, _ in found.values()), default=0)
    columns = {name: Column(values[:length], str(plain(item.attrs.get("unit", ""))),
                            one_line(str(plain(item.attrs.get("definition", ""))))) for name, (values, item) in found.items()}
    if columns:
        _check_columns(group, columns)
    return columns


def _values(group: str, name: str, item: object) -> np.ndarray:
    return (whole_numbers if group in REQUIRED and name in WHOLE else numbers)(item)


def _check_columns(group: str, columns: dict[str, Column]) -> None:
    for name in REQUIRED.get(group, ()):
        if name not in columns:
            raise KeyError(f"no column {group}/{name}")
    for name in ("step", "tokens"):
        values = columns[name].values if name in columns else np.empty(0)
        if group in REQUIRED and values.size and (values[0] < 0 or np.any(np.diff(values) < 0)):
            raise ValueError(f"{group}/{name} goes back")
