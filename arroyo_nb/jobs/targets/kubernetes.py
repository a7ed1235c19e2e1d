"""Kubernetes: a manifest for the Spark operator, and the image that it runs.

The manifest is a ``SparkApplication`` of ``sparkoperator.k8s.io/v1beta2``. The state
lies on a volume that the driver and all executors mount. What the spec references of
the environment comes from a Secret: into the driver only, as no executor looks there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from arroyo_nb.engine.config import cluster_settings
from arroyo_nb.jobs import LIBRARIES
from arroyo_nb.jobs.shell_quoting import shell_path
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_file import JobFile
from arroyo_nb.jobs.targets import Delivery
from arroyo_nb.jobs.targets._cluster import (
    MAIN,
    jars,
    notes,
    own,
    requirements,
    slots,
    spark,
)
from arroyo_nb.plan import Plan
from arroyo_nb.udfs.languages import RUST

FOLDER = "kubernetes"
APPLICATION, VOLUME, APPLY = "application.yaml", "volume.yaml", "apply.sh"

CORES_OF_EXECUTOR = 4
"""The most that one executor has: a larger job has more executors."""

_MEMORY_OF_CORE_MIB = 2048
_STATE_SIZE = "10Gi"
_JOB, _STATE = "/opt/job", "/var/lib/arroyo-nb"
_SERVICE_ACCOUNT = "spark"
_USER = 185
"""Of Spark's own images."""
_RETRIES, _RETRY_S = 20, 10

GRACE_S = 180
"""For how long a driver may write what it is at; a job's own stop takes less."""

_DOCKERFILE = """\
# The image of the job {name}. Spark and Java are those of Spark's own image; Python is
# of an image of its own, as arroyo_nb wants 3.11 or newer.
# Build it in the folder of job.yaml: docker build -f kubernetes/Dockerfile .
ARG SPARK=spark:{spark}-scala2.13-java17-ubuntu
FROM $SPARK AS spark

FROM python:3.12-slim-bookworm
RUN apt-get update \\
    && apt-get install --yes --no-install-recommends procps tini \\
    && rm -rf /var/lib/apt/lists/*
COPY --from=spark /opt/java/openjdk /opt/java/openjdk
COPY --from=spark /opt/spark /opt/spark
COPY --from=spark /opt/entrypoint.sh /opt/
ENV JAVA_HOME=/opt/java/openjdk SPARK_HOME=/opt/spark
ENV PATH=/opt/java/openjdk/bin:/opt/spark/bin:$PATH
ENV PYSPARK_PYTHON=python3 PYSPARK_DRIVER_PYTHON=python3

# What no index has: COPY its wheel from kubernetes/, and name it by ARROYO_NB.
COPY kubernetes/requirements.txt {job}/kubernetes/
ARG ARROYO_NB={own}
RUN pip install --no-cache-dir -r {job}/kubernetes/requirements.txt \\
    && pip install --no-cache-dir --no-deps "$ARROYO_NB"
COPY {spec} {job}/
COPY kubernetes/main.py {job}/kubernetes/
{libraries}
RUN groupadd --system --gid {user} spark \\
    && useradd --system --uid {user} --gid spark --create-home spark \\
    && mkdir -p /opt/spark/work-dir && chown spark:spark /opt/spark/work-dir
USER {user}
WORKDIR /opt/spark/work-dir
ENTRYPOINT ["/opt/entrypoint.sh"]
"""

_APPLY = """\
#!/bin/sh
# Makes the image of the job {name}, pushes it, and has the Spark operator run it.
#
#     REGISTRY=HOST/FOLDER sh kubernetes/apply.sh
#
# REGISTRY   where the cluster's images are
# ARROYO_NB  what pip installs arroyo_nb by, if not the index's

set -eu
# By names without the path: kubectl cuts those it is given at commas.
CDPATH="" cd -- "$(dirname -- "$0")"
: "${{REGISTRY:?where the images of the cluster are, such as HOST/FOLDER}}"
image=$REGISTRY/{image}
docker build ${{ARROYO_NB:+--build-arg "ARROYO_NB=$ARROYO_NB"}} \\
    -t "$image" -f Dockerfile ..
docker push "$image"
kubectl apply -f volume.yaml
sed "s|image: {image}|image: $image|" application.yaml | kubectl apply -f -
"""

_HEAD = """\
# The job {name}, for the Spark operator. Put the service account here that drivers of
# your cluster have. The image is made of Dockerfile, by apply.sh, which puts its
# registry before its name.{secret}
"""
_SECRET = """ What the job wants of its environment, {names}, is
# kept in a secret: kubectl create secret generic {secret} --from-env-file=FILE"""


class Kubernetes:
    """``kubectl apply`` of what the Spark operator runs."""

    name = "kubernetes"
    doc = "Kubernetes, with the Spark operator"
    aliases = ("docker", "k8s", "kube")
    runs_here = False

    def deliver(self, job: JobFile, plan: Plan, folder: Path) -> Delivery:
        """The manifest, its volume, and what the image is made of."""
        job.check_runs_on_spark(plan)
        spec, name = job.spec, Path(job.source.name).name
        image = _image(job)
        is_compiled = any(udf.language == RUST for udf in spec.udfs)
        texts = {
            APPLICATION: _head(spec) + _written(_application(spec, plan, image)),
            VOLUME: _written(_volume(spec)),
            "Dockerfile": _DOCKERFILE.format(
                name=spec.name,
                spark=spark(spec),
                own=own(spec),
                spec=name,
                job=_JOB,
                user=_USER,
                libraries=f"COPY {LIBRARIES} {_JOB}/{LIBRARIES}\n" * is_compiled,
            ),
            APPLY: _APPLY.format(name=spec.name, image=image),
            "Dockerfile.dockerignore": f"*\n!{name}\n!{FOLDER}\n"
            + f"!{LIBRARIES}\n" * is_compiled,
            "main.py": MAIN.format(spec=name),
            "requirements.txt": requirements(spec, plan),
        }
        files = {f"{FOLDER}/{file}": text for file, text in texts.items()}
        script = shell_path(folder / FOLDER / APPLY)
        command = f"REGISTRY=HOST/FOLDER sh {script}"
        return Delivery(command, files, notes(job, folder, f"{FOLDER}/Dockerfile"))


def _resource(spec: JobSpec) -> str:
    """What its resources are called: lower-case words, joined by dashes.

    Names that only differ in what is not allowed there stay apart.
    """
    cleaned = spec.name.lower().replace("_", "-").strip("-")
    if cleaned == spec.name:
        return cleaned
    return f"{cleaned[:50].strip('-')}-{_digest(spec.name)}"


def _image(job: JobFile) -> str:
    """A changed spec is another image: no node keeps the old one for it."""
    return f"{_resource(job.spec)}:{_digest(job.source.text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _claim(spec: JobSpec) -> str:
    return f"{_resource(spec)}-state"


def _head(spec: JobSpec) -> str:
    names = ", ".join(spec.environment)
    secret = _SECRET.format(names=names, secret=_resource(spec)) if names else ""
    return _HEAD.format(name=spec.name, secret=secret)


def _application(spec: JobSpec, plan: Plan, image: str) -> dict[str, Any]:
    """SparkApplication of the operator's API."""
    coordinates = [str(jar) for jar in jars(plan)]
    application = {
        "type": "Python",
        "mode": "cluster",
        "sparkVersion": spark(spec),
        "image": image,
        "mainApplicationFile": f"local://{_JOB}/{FOLDER}/main.py",
        "arguments": ["--state-dir", _STATE, "--log", "json"],
        "sparkConf": _settings(spec),
        "deps": {"packages": coordinates} if coordinates else None,
        "volumes": [
            {"name": "state", "persistentVolumeClaim": {"claimName": _claim(spec)}}
        ],
        "driver": _driver(spec),
        "executor": _executor(spec),
        # What may pass is begun again within the driver. This is for a driver that is
        # lost with its node.
        "restartPolicy": {
            "type": "OnFailure",
            "onFailureRetries": _RETRIES,
            "onFailureRetryInterval": _RETRY_S,
            "onSubmissionFailureRetries": _RETRIES,
            "onSubmissionFailureRetryInterval": _RETRY_S,
        },
    }
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": _resource(spec)},
        "spec": {key: value for key, value in application.items() if value is not None},
    }


def _settings(spec: JobSpec) -> Mapping[str, str]:
    settings = cluster_settings(slots(spec))
    del settings["spark.cores.max"]  # of standalone clusters
    return settings | {
        # A stateful batch waits for all of them anyway.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        # The image's home folder may be read-only.
        "spark.jars.ivy": "/tmp/ivy",
    }


def _driver(spec: JobSpec) -> dict[str, Any]:
    secret = _resource(spec)
    driver = {
        **_pod(1),
        "serviceAccount": _SERVICE_ACCOUNT,
        # A stop keeps what is done.
        "terminationGracePeriodSeconds": GRACE_S,
        "env": [
            {
                "name": name,
                "valueFrom": {"secretKeyRef": {"name": secret, "key": name}},
            }
            for name in spec.environment
        ],
    }
    return {key: value for key, value in driver.items() if value}


def _executor(spec: JobSpec) -> dict[str, Any]:
    cores = min(slots(spec), CORES_OF_EXECUTOR)
    return {"instances": -(-slots(spec) // cores), **_pod(cores)}


def _pod(cores: int) -> dict[str, Any]:
    # By default Spark adds two fifths of the memory for Python.
    return {
        "cores": cores,
        "memory": f"{cores * _MEMORY_OF_CORE_MIB}m",
        "podSecurityContext": {"fsGroup": _USER},
        "volumeMounts": [{"name": "state", "mountPath": _STATE}],
    }


def _volume(spec: JobSpec) -> dict[str, Any]:
    """The claim of a volume that pods on all nodes read and write."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": _claim(spec)},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": _STATE_SIZE}},
        },
    }


def _written(resource: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(resource, sort_keys=False, allow_unicode=True)
    return text


TARGET = Kubernetes()
