"""The command line: every page's action is also a command here.

Bad input ends with one clear line on standard error and exit code 2.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

import crowdcore
import crowdcore.core.garbage
from crowdcore.core.errors import CrowdError, need_posix
from crowdcore.core.files import patient

__all__ = ["app", "main"]

_PANELS = {  # group -> name -> module and function; a module is imported when one of its commands runs
    "Look": {
        **{name: f"files:{name}" for name in ("datasets", "examine", "fetch")},
        **{name: f"analyse:{name}" for name in ("info", "overview", "check", "show", "mistakes", "distances")},
        **{name: f"analyse:{name}" for name in ("quality", "coordinated", "panel", "spans", "rounds", "glossary")},
        "marks": "files:marks",
    },
    "Infer": {"aggregate": "aggregate:aggregate", "ratings": "ratings:app", "next": "analyse:next_labels"},
    "Learn": {
        **{"embed": "files:embed", "train": "train:train", "compare": "compare:compare", "topics": "train:topics"},
        **{"simulate": "simulate:simulate", "reproduce": "report:reproduce"},
    },
    "Run": {
        **{"runs": "runs:app", "workspace": "serve:workspace_app"},
        **{"compute-worker": "serve:worker", "scheduler": "serve:scheduler"},
    },
    "Share": {"app": "serve:app", "report": "report:report", "export": "files:export"},
}
_COMMANDS = {name: place for panel in _PANELS.values() for name, place in panel.items()}
_FORMER = {"worker": "compute-worker"}  # for one release


class OpensFiles(TyperGroup):
    """Commands of which one, the ``opener``, takes a file that stands in place of a command."""

    opener: ClassVar[str]
    is_opened = staticmethod(Path.is_file)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve ``crowdcore votes.csv`` to ``crowdcore app votes.csv``."""
        opens = args[0] not in self.list_commands(ctx) and self.is_opened(Path(args[0]))
        return super().resolve_command(ctx, [self.opener, *args] if opens else args)


class _Commands(OpensFiles):
    """All commands, each loaded when it is needed."""

    opener = "app"

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _load(cmd_name) if cmd_name in _COMMANDS else None

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete options, or names of commands without importing these."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        names = (name for name in _COMMANDS if name.startswith(incomplete))
        return [SimpleNamespace(value=name, type="plain", help=None) for name in names]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve a former name with a note."""
        if new := _FORMER.get(args[0]):
            print(f"`crowdcore {args[0]}` is now called `crowdcore {new}`.", file=sys.stderr)
            args = [new, *args[1:]]
        return super().resolve_command(ctx, args)


@cache
def _load(name: str) -> Any:
    from crowdcore.cli._command import command

    module, _, function = _COMMANDS[name].partition(":")
    app = getattr(import_module(f"crowdcore.cli.{module}"), function)
    if not isinstance(app, typer.Typer):
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(name)(command(app))
        app = single
    loaded: Any = typer.main.get_command(app)
    loaded.name = name
    loaded.rich_help_panel = next(panel for panel, names in _PANELS.items() if name in names)
    return loaded


app = typer.Typer(
    name="crowdcore",
    cls=_Commands,
    help="Who makes which labelling mistakes, which of those are shared, and what is the truth behind them?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(crowdcore.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None: ...


_commands = cache(typer.main.get_command)


def execute(arguments: list[str] | None = None) -> None:
    """Run the command of some arguments, default: those of the process; errors and exits are raised."""
    need_posix("crowdcore")
    with patient(60):
        _commands(app)(arguments)


def _stop(*_: Any) -> None:
    """End on Ctrl-C with one line, after a second at most, even during imports or with running threads."""
    os.write(2, b"\ncrowdcore: Stopped.\n")
    sys.stderr = io.StringIO()  # hide the traceback
    ending = threading.Timer(1, os._exit, (130,))
    ending.daemon = True
    ending.start()
    raise KeyboardInterrupt


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a `CrowdError` or a file's error is one line on standard error and exit code 2."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin while they wait starve a shared machine
    if arguments is None:
        signal.signal(signal.SIGINT, _stop)
    try:
        execute(arguments)
    except CrowdError as error:
        from crowdcore.cli._output import in_command, say

        say(f"crowdcore: {error.phrased(in_command)}", err=True)
        sys.exit(2)
    except MemoryError:
        print("crowdcore: This needs more memory than there is. Merge classes, or take fewer tasks.", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        if error.filename is None:
            raise
        from crowdcore.cli._output import say

        why = f"{error.filename} cannot be opened: {error.strerror or error}"
        say(f"crowdcore: {why}. Choose another file or folder.", err=True)
        sys.exit(2)
