#!/usr/bin/env python3
"""Jobs on several processes under mpirun: results have the same bytes for any number of processes; if a process dies,
the job ends and the next run resumes it. Skipped without Open MPI."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import resume

PROGRAM = str(pathlib.Path(resume.PROGRAM).parent / "tests/sooth-mpi")
MANY = 10  # processes: with 8 or more, the first one only stores results
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "ASAN_OPTIONS": "detect_leaks=0",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}
PLAN = """gpu = t4, a100
[resnet]
count = 40
graph = zoo:resnet/{depth}?image={image}
depth = 18, 34, 50
image = 64:256:32
batch = 1, 8, 64
"""
SWEEP = PLAN.replace("count = 40\n", "")
TRAININGS = {"gnn": ["gnn", "train", "set.db", "--hidden", "32", "--node-features", "full", "-q", "--epochs"],
             "learn": ["learn", "rows.csv", "operators.csv", "--networks", "4", "--operators", "64", "-q", "--epochs"]}


def tables():
    """Synthetic rows of networks, and enough rows of products to grow trees."""
    networks = [f"zoo:{name},{batch},{gpu},amp,nchw,eager,pt2.4-cu124,infer,{(2 + batch) * (5 + len(name)) * factor:.4g}"
                for name in ("resnet18", "resnet50", "alexnet", "mobilenet_v2", "squeezenet1_1")
                for gpu, factor in (("rtx-3090", 0.05), ("a100", 0.04), ("rtx-4090", 0.03)) for batch in (1, 8, 32)]
    head = "graph,batch,gpu,precision,layout,runtime,stack,mode,latency_ms"
    pathlib.Path("rows.csv").write_text("\n".join([head, *networks]) + "\n")
    products = [f"gemm,rtx-3090,float16,{64 + 3 * i},{1 << 5 + i % 7},{1 << 6 + i % 5},{0.005 + (i % 31) * 0.0003:.5g},mine" for i in range(1300)]
    pathlib.Path("operators.csv").write_text("\n".join(["op,device,dtype,m,n,k,latency_ms,source", *products]) + "\n")


def mpirun(count):
    return ["mpirun", "--oversubscribe", "-n", str(count)]


def run(count, *arguments):
    return subprocess.run([*mpirun(count), PROGRAM, *arguments], capture_output=True, text=True, timeout=resume.TIMEOUT_S)


def same_bytes(what, make, out):
    """Runs the command `make`, which writes `out`, with one and several processes and compares the files."""
    alone = subprocess.run([PROGRAM, *make, "-o", out], capture_output=True, text=True, timeout=resume.TIMEOUT_S)
    expected = pathlib.Path(out).read_bytes() if alone.returncode == 0 else b""
    for count in (2, 3, MANY):
        pathlib.Path(out).unlink(missing_ok=True)
        done = run(count, *make, "-o", out)
        good = done.returncode == 0 and done.stdout == alone.stdout and pathlib.Path(out).read_bytes() == expected
        resume.check(f"{what}: {count} processes write the same bytes as one", bool(expected) and good,
                     done.stderr or alone.stderr or (done.returncode, alone.stdout, done.stdout))


def rank_of(parent, rank):
    """The process of this rank among the children of mpirun."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            is_child = f"PPid:\t{parent}\n" in (folder / "status").read_text()
            if is_child and f"OMPI_COMM_WORLD_RANK={rank}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                return int(folder.name)
        except OSError:
            pass
    return None


def kill_rank(what, process, rank):
    """Kills one process of a job, which must end with a message."""
    victim = rank_of(process.pid, rank)
    if victim:
        os.kill(victim, signal.SIGKILL)
    try:
        _, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        _, errors = process.communicate()
    said = "signal 9" in errors or "Killed" in errors
    resume.check(f"{what}: the job ends with a message when process {rank} dies", bool(victim) and process.returncode != 0 and said,
                 f"{victim} {process.returncode}: {errors}")


def dies(what, rank):
    out = f"{what}-{rank}.db"
    process = resume.begun(what, out, mpirun(2), PROGRAM)
    kill_rank(what, process, rank)
    time.sleep(0.2)
    kept, whole = resume.rows(out, resume.COUNTS[what]), resume.rows(f"{what}.db", resume.COUNTS[what])
    done = run(2, *resume.COMMANDS[what], "-o", out)
    same = done.returncode == 0 and pathlib.Path(out).read_bytes() == pathlib.Path(f"{what}.db").read_bytes()
    resume.check(f"{what}: the next run goes on, and ends with the same file", 0 < kept < whole and same, f"{kept} of {whole}: {done.stderr}")


def training_dies(what):
    """Like dies(), for a training, which writes a checkpoint."""
    out, make = f"{what}-cut.bin", [*TRAININGS[what], "30"]
    alone = subprocess.run([PROGRAM, *make, "-o", f"{what}-whole.bin"], capture_output=True, text=True, timeout=resume.TIMEOUT_S)
    checkpoint = pathlib.Path(f"{out}.checkpoint")
    process = subprocess.Popen([*mpirun(2), PROGRAM, *make, "-o", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + resume.TIMEOUT_S
    while process.poll() is None and not checkpoint.exists() and time.monotonic() < end:
        time.sleep(0.005)
    kill_rank(what, process, 1)
    was_cut = checkpoint.exists() and not pathlib.Path(out).exists()
    done = run(3, *make, "-o", out)
    expected = pathlib.Path(f"{what}-whole.bin").read_bytes() if alone.returncode == 0 else b""
    same = done.returncode == 0 and pathlib.Path(out).read_bytes() == expected != b""
    resume.check(f"{what}: the next run goes on with three processes, to the bytes of one", was_cut and same and not checkpoint.exists(),
                 f"{was_cut}: {done.stderr}{alone.stderr}")


def refused():
    one = run(2, "sweep", "missing.txt", "-o", "no.db")
    lines = [line for line in one.stderr.splitlines() if line.startswith("sooth")]
    resume.check("a failure that all processes have is said once", one.returncode == 5 and len(lines) == 1, one.stderr)
    other = run(2, "inspect", "zoo:resnet18")
    power = run(2, "learn", "--energy", "rows.csv", "-o", "no.txt")
    resume.check("so are the small fits of learn", power.returncode == 2 and power.stderr.count("run on one process") == 1, power.stderr)
    resume.check("other commands are refused", other.returncode == 2 and other.stderr.count("run on several processes") == 1, other.stderr)


def main():
    if not shutil.which("mpirun") or not pathlib.Path(PROGRAM).exists():
        print("1..0 # SKIP Open MPI is not installed")
        return
    os.environ.update(ENVIRONMENT)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("small.txt").write_text(PLAN)
        pathlib.Path("points.txt").write_text(SWEEP)
        pathlib.Path("plan.txt").write_text(resume.PLAN)
        pathlib.Path("sweep.txt").write_text(resume.SWEEP)
        same_bytes("dataset", ["dataset", "make", "--plan", "small.txt"], "set.db")
        same_bytes("sweep", ["sweep", "points.txt", "-f", "json"], "out.db")
        same_bytes("survey", ["survey", "zoo:resnet18", "zoo:alexnet", "zoo:vit_b_16", "--gpu", "t4,a100", "-f", "csv"], "survey.csv")
        tables()
        for what, make in TRAININGS.items():
            same_bytes(what, [*make, "2"], f"{what}.bin")
            training_dies(what)
        refused()
        for what in resume.COMMANDS:
            resume.run(what, f"{what}.db")
            dies(what, 1)
        dies("sweep", 0)
        os.chdir("/")
    resume.report()


main()
