"""Use in a shell: pipes, a hyphen for standard input and output, Ctrl-C."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

VOTES = "task,worker,label\n" + "".join(f"t{t},w{w},{'cat' if t % 2 else 'dog'}\n" for t in range(9) for w in range(3))
COMMAND = [sys.executable, "-m", "crowdcore"]


def test_labels_are_piped_through() -> None:
    done = subprocess.run(
        [*COMMAND, "aggregate", "-", "--out", "-"], input=VOTES.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(io.BytesIO(done.stdout))
    assert table.set_index("task")["label"].to_dict() == {f"t{t}": "cat" if t % 2 else "dog" for t in range(9)}


def test_a_table_of_any_command_goes_to_standard_output(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "quality", "-", "--out", "-"], input=VOTES.encode(), capture_output=True, check=False
    )
    assert list(pd.read_csv(io.BytesIO(done.stdout))["worker"]) == ["w0", "w1", "w2"]


def test_a_reader_that_ends_early_is_no_fault() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*COMMAND, "glossary"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert b"Traceback" not in done.stderr
    assert b"rror" not in done.stderr


BUSY = """
import threading, time
from crowdcore import cli
def busy(arguments):
    if {thread}:
        threading.Thread(target=time.sleep, args=(60,)).start()
    print("up", flush=True)
    time.sleep(60)
cli.execute = busy
cli.main()
"""


@pytest.mark.parametrize("thread", [False, True], ids=["alone", "while a thread goes on"])
def test_ctrl_c_ends_with_one_line(thread: bool) -> None:
    command = [sys.executable, "-c", BUSY.format(thread=thread)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"up\n"
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, output = running.communicate(timeout=30)
    assert time.monotonic() - began < 10  # of 60 s; a busy machine takes longer than the second it waits
    assert output.strip() == b"crowdcore: Stopped."


def test_ctrl_c_in_training_keeps_the_last_checkpoint(tmp_path: Path) -> None:
    learning = pytest.importorskip("crowdcore.learning")
    settings = ["--method", "dl-mv", "--seeds", "1", "--epochs", "100000", "--device", "cpu", "--checkpoint"]
    with subprocess.Popen(
        [*COMMAND, "train", "demo", *settings, str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        deadline = time.monotonic() + 120
        while not (kept := sorted(tmp_path.rglob("epoch-*.safetensors"))) and time.monotonic() < deadline:
            time.sleep(0.2)
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, output = running.communicate(timeout=30)
    assert kept
    assert time.monotonic() - began < 10  # 2 s on a machine that has nothing else to do
    assert running.returncode == 130
    assert output.strip().splitlines()[-1] == b"crowdcore: Stopped."
    assert b"Traceback" not in output
    again = learning.train(
        "demo", "dl-mv", seeds=1, epochs=100_000, device="cpu", checkpoint=tmp_path, should_stop=lambda: True
    )
    assert again.last_epoch[0] >= 10  # where the last checkpoint was
