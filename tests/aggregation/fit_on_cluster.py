"""Run by `test_partitions`: fits a folder on two Dask worker processes and prints which processes took part."""

from __future__ import annotations

import os
import sys

import numpy as np

import crowdcore as cc


def main(source: str, out: str, *names: str) -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for name in names:
            model = cc.aggregation.get(name, max_iterations=6)
            result = cc.aggregation.fit_partitions(source, model, f"{out}-{name}", client=client)
            confusions = result.parts["confusion"], result.log_likelihood
            np.savez(f"{out}-{name}.npz", confusion=confusions[0], objective=confusions[1])
        worked = client.run(lambda: os.getpid() if "crowdcore.core.em" in sys.modules else None)
    print(len({pid for pid in worked.values() if pid not in (None, os.getpid())}))


if __name__ == "__main__":
    main(*sys.argv[1:])
