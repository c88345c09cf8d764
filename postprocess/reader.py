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

import contextlib
import math
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from .failure import FILES, Failure

OLDEST_VERSION = {"lexikos-tasks": (2, "holds no metrics; score the requests again")}
NEWEST_VERSION = {"lexikos-history": 2, "lexikos-evaluation": 1, "lexikos-capacity": 2, "lexikos-packing": 1,
                  "lexikos-tasks": 2}
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
        """A string attribute, or "unknown" if it is absent or empty."""
        return str(self.attributes.get(name, "")) or "unknown"

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
        return self.folder.resolve().name


def read_run(folder: Path) -> Run:
    """Every member of the run in `folder`. Folders without a history.h5 (not started) are passed over."""
    folders = _member_folders(folder, HISTORY)
    if not folders:
        raise Failure(FILES, f"{folder}: no {HISTORY} in it or in a folder of it; has the run started?")
    return Run(folder, [read_member(path) for path in folders])


def has_run(folder: Path) -> bool:
    """Whether a training run has begun in `folder`."""
    return folder.is_dir() and bool(_member_folders(folder, HISTORY))


def read_evaluations(folder: Path) -> tuple[Run, list[str]]:
    """(the run's members that have an evaluation.h5, as that file has them; names of the folders that have none)."""
    folders = _member_folders(folder, EVALUATION)
    if not folders:
        raise Failure(FILES, f"{folder}: no {EVALUATION} in any member; the job \"evaluate\" writes it")
    missing = [path.name for path in _member_folders(folder, HISTORY) if path not in folders]
    return Run(folder, [read_member(path, EVALUATION) for path in folders]), missing


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
    missing = [path.name for path in _member_folders(folder, HISTORY) if path not in folders]
    found = {str(path): _tasks(path / TASKS) for path in folders}
    return Run(folder, [read_member(path, TASKS) for path in folders]), found, missing


def _tasks(path: Path) -> list[Task]:
    with _open(path, "lexikos-tasks") as file, _reading(path):
        names, descriptions = ([_plain(value) for value in file[f"tasks/{name}"][()]] for name in ("name", "description"))
        documents = file["documents/task"][()]
        gold, firsts, code_points = (file[name][()] for name in
                                     ("documents/gold", "documents/first_request", "requests/code_points"))
        metrics = _task_metrics(file["metrics"])
    found = []
    for number, (name, description) in enumerate(zip(names, descriptions)):
        own = np.flatnonzero(documents == number)
        mine = [metric for task, metric in metrics if task == number]
        if not own.size or np.any(np.diff(own) != 1) or any(metric.numerators.size != own.size for metric in mine):
            raise Failure(FILES, f"{path}: damaged or incomplete (documents of {name})")
        begins = firsts[own[0] : own[-1] + 2]
        found.append(Task(name, description, mine, (gold[own], np.diff(begins), code_points[begins[0] : begins[-1]])))
    return found


def _task_metrics(group: h5py.Group) -> list[tuple[int, TaskMetric]]:
    """(row of /tasks, metric) in the file's order."""
    columns = {name: group[name][()] for name in ("task", "first", "exponential", "chance", "numerator", "weight")}
    cuts = [slice(begin, end) for begin, end in zip(columns["first"][:-1], columns["first"][1:])]
    return [(int(columns["task"][i]), TaskMetric(_plain(name), columns["numerator"][cuts[i]], columns["weight"][cuts[i]],
                                                 bool(columns["exponential"][i]), float(columns["chance"][i])))
            for i, name in enumerate(group["name"][()])]


def _member_folders(folder: Path, name: str) -> list[Path]:
    """The folders with a file `name`: the run's own, or those of its members."""
    if not folder.is_dir():
        raise Failure(FILES, f"{folder}: no such run folder")
    return [folder] if (folder / name).is_file() else sorted(path.parent for path in folder.glob(f"*/{name}"))


def read_member(folder: Path, name: str = HISTORY) -> Member:
    """Attributes and columns of one history.h5 or evaluation.h5; of a tasks.h5 the attributes."""
    path = folder / name
    with _open(path, f"lexikos-{path.stem}") as file:
        attributes = {key: _plain(value) for key, value in file.attrs.items()}
        groups = [] if name == TASKS else [group for group in file if isinstance(file[group], h5py.Group)]
        columns = {f"{group}/{key}": column for group in groups for key, column in _columns(file, group).items()}
    return Member(str(attributes.get("member") or "") or folder.resolve().name, folder, path, attributes, columns)


def capacity_files(folder: Path) -> list[Path]:
    """Every capacity.h5 in a folder and in the folders of it."""
    return sorted(folder.glob(CAPACITY)) + sorted(folder.glob(f"*/{CAPACITY}"))


def read_capacity(path: Path) -> Capacity:
    """One capacity.h5, or the one in the folder `path`."""
    path = path / CAPACITY if path.is_dir() else path
    with _open(path, "lexikos-capacity") as file, _reading(path):
        groups = file["matrices"]
        matrices = [_matrix(path, groups[name]) for name in sorted(groups, key=int)]
        deck = str(_plain(file.attrs.get("deck", "")))
    if not matrices:
        raise Failure(FILES, f"{path}: no matrix in it")
    return Capacity(path, deck, matrices)


def _matrix(path: Path, group: h5py.Group) -> Matrix:
    attributes = {key: _plain(value) for key, value in group.attrs.items()}
    cosines = group.get("token_cosines")
    pair = None if cosines is None else tuple(float(_plain(cosines.attrs[key])) for key in ("mean", "deviation"))
    zero, untrained, outliers = (len(group[f"rows_{kind}"]) for kind in ("zero", "untrained", "outlier"))
    sets = {name: _row_set(name, item) for name, item in group.items() if isinstance(item, h5py.Group)}
    if "raw" not in sets:
        raise KeyError(f"no group {group.name}/raw")
    return Matrix(path, str(attributes["file"]), str(attributes["side"]), str(attributes["element"]),
                  int(attributes["vocabulary_size"]), int(attributes["width"]), int(attributes["rows_padding"]), zero,
                  untrained, outliers, pair, sets)


def _row_set(name: str, group: h5py.Group) -> RowSet:
    counts = group["histogram"][()] if "histogram" in group else None
    attributes = {key: _plain(value) for key, value in group.attrs.items()}
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
    with _open(path, "lexikos-packing") as file, _reading(path):
        found = {key: _plain(value) for key, value in file.attrs.items()}
        cell = Cell(path, str(found["kind"]), *(int(found[key]) for key in ("dimension", "count", "power", "repeats")),
                    float(found["learning_rate"]), int(found["seed"]), float(found["epsilon"]), float(found["seconds"]),
                    _columns(file, "history"))
    if not (cell.d > 0 and cell.k > 1 and 0.0 < cell.epsilon < math.inf):
        raise Failure(FILES, f"{path}: no cell has dimension {cell.d}, count {cell.k} and epsilon {cell.epsilon}")
    return cell


@contextlib.contextmanager
def _reading(path: Path):
    """A file whose contents are not as its format says is one line that names it."""
    try:
        yield
    except (KeyError, OSError, ValueError, TypeError, AttributeError) as error:
        raise Failure(FILES, f"{path}: damaged or incomplete ({_message(error)})") from None


def _open(path: Path, expected: str) -> h5py.File:
    """Open read-only without locks and check the format name and version."""
    if not path.is_file():
        raise Failure(FILES, f"{path}: no such file")
    try:
        file = _open_unlocked(path)
    except OSError as error:
        raise Failure(FILES, f"{path}: not a readable HDF5 file ({_message(error)})") from None
    found, version = _plain(file.attrs.get("format", "")), _plain(file.attrs.get("format_version", 0))
    problem = None
    if found != expected:
        problem = f"format is {found!r}, expected {expected!r}"
    elif version > NEWEST_VERSION[expected]:
        problem = (f"{expected} version {version} is newer than the version {NEWEST_VERSION[expected]} that this "
                   "postprocess reads; use the postprocess of the code that wrote it")
    elif version < OLDEST_VERSION.get(expected, (0, ""))[0]:
        problem = f"{expected} version {version} {OLDEST_VERSION[expected][1]}"
    if problem:
        file.close()
        raise Failure(FILES, f"{path}: {problem}")
    return file


def _open_unlocked(path: Path) -> h5py.File:
    try:
        return h5py.File(path, "r", locking=False)
    except (TypeError, ValueError):  # an h5py or HDF5 library that cannot switch locks off
        return h5py.File(path, "r")


def _columns(file: h5py.File, group: str) -> dict[str, Column]:
    """The 1-D numeric datasets of a group, cut to their common length: a run in progress may be a row ahead in some."""
    found = {name: item for name, item in file.get(group, {}).items()
             if isinstance(item, h5py.Dataset) and item.ndim == 1 and item.dtype.kind in "fiu"}
    length = min((item.shape[0] for item in found.values()), default=0)
    return {name: Column(item[:length], str(_plain(item.attrs.get("unit", ""))),
                         str(_plain(item.attrs.get("definition", "")))) for name, item in found.items()}


def _plain(value: object) -> object:
    """An HDF5 attribute as a Python str, int, float or list."""
    if isinstance(value, h5py.Empty):
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.ndarray) and value.size == 1:
        return _plain(value.reshape(-1)[0])
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.reshape(-1)]
    return value.item() if isinstance(value, np.generic) else value


def _message(error: Exception) -> str:
    return str(error).strip("'\" ")
