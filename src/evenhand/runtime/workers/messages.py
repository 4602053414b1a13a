"""What goes wrong between this process and its workers, in sentences."""

from __future__ import annotations

N_JOBS = "n_jobs = {n_jobs!r} must be a whole number other than 0; -1 takes every core"
WORKER_ENDED = (
    "a worker process {ending} while it ran the software under test; with isolate = true it runs"
    " in a process of its own, and the inputs are told"
)
WORKERS_KEEP_ENDING = (
    "workers of the {kind} cluster ended again and again while they ran the software under test"
    " ({reason}); with isolate = true it runs in a process of its own, and the inputs are told"
)
CLUSTER_FORM = "cluster = {text!r} must be a kind and an address, such as {examples}"
CLUSTER_KIND = "cluster = {text!r}: unknown kind {kind!r}; {nearest}"
UNREACHABLE = "cluster = '{kind}:{address}': no cluster answers at this address ({reason})"
NO_WORKERS = "the {kind} cluster at {address} has no workers, after {seconds} s of waiting"
CLUSTER_LOST = (
    "the {kind} cluster at {address} is gone ({reason}); what was executed is in the ledger, if"
    " there is one"
)
OTHER_PYTHON = (
    "the {kind} worker {worker} runs Python {theirs}, and this process runs {own}; they must be the"
    " same"
)
NO_EVENHAND = (
    "the {kind} worker {worker} has no evenhand; install evenhand {own} and what the software under"
    " test needs where its workers run"
)
OTHER_EVENHAND = (
    "the {kind} worker {worker} has evenhand {theirs}, and this process has {own}; they must be the"
    " same"
)
CANNOT_UNPACK = (
    "a worker on {host} cannot unpack the software under test ({reason}); it needs the same files,"
    " libraries and versions as this process"
)
WORKERS_UNFIT = (
    "the workers of the {kind} cluster cannot run what they are sent ({reason}); install evenhand"
    " {own} and what the software under test needs where they run"
)
IDLE_THREADS = (
    "each of {workers} Dask workers has {threads} threads, of which one is used: software under"
    " test is asked once at a time in each process; start them with --nthreads 1 --nworkers N"
)
SPARK_CONNECT = (
    "the Spark session of this process uses Spark Connect, which cannot send a model once to each"
    " worker; start it with a master, such as spark://host:7077"
)
