"""What a cluster is handed: the script that submits, and Kubernetes' manifest."""

import os
import shutil
import subprocess
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from kubeflow_spark_api.models.io_k8s_api_core_v1_persistent_volume_claim import (
    IoK8sApiCoreV1PersistentVolumeClaim as VolumeClaim,
)
from kubeflow_spark_api.models.spark_v1beta2_spark_application import (
    SparkV1beta2SparkApplication as SparkApplication,
)

from arroyo_nb.engine import EngineProblem
from arroyo_nb.engine.config import CLUSTER, SQL, cluster_settings
from arroyo_nb.engine.jars import CONNECTOR, packages
from arroyo_nb.engine.spark_submit import submitted
from arroyo_nb.errors import ArroyoError
from arroyo_nb.jobs.runner.stop_limit import STOP_LIMIT_S
from arroyo_nb.jobs.spec import JobSpec
from arroyo_nb.jobs.spec_file import read
from arroyo_nb.jobs.targets import TARGETS
from arroyo_nb.run.options import RunOptions
from arroyo_nb.session import Session
from arroyo_nb.source import ScriptText

TICKS = "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = 10);\n"
ORDERS = (
    "CREATE TABLE orders (id INT) WITH (connector = 'kafka', topic = 't', type = "
    "'source', bootstrap_servers = '{{ BROKER }}', format = 'json', 'auth.type' = "
    "'sasl', 'auth.mechanism' = 'PLAIN', 'auth.protocol' = 'SASL_SSL', "
    "'auth.username' = 'u', 'auth.password' = '{{ PASSWORD }}');\n"
)
SPEC = JobSpec("few_ticks", f"{TICKS}SELECT counter FROM ticks;\n")
TOPIC = JobSpec("orders", f"{ORDERS}SELECT id FROM orders;\n")
ECHO = '#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word"; done\n'


def with_options(spec, **options):
    return JobSpec(spec.name, spec.sql, options=RunOptions(**options))


def delivered(spec, target, folder=Path("jobs/x")):
    file = read(ScriptText(spec.text, "job.yaml"))
    return TARGETS.get(target).deliver(file, file.plan(), folder)


@pytest.fixture
def submit(tmp_path):
    """Runs a job's script, with a spark-submit that prints what it was given."""
    echo = tmp_path / "bin" / "spark-submit"
    echo.parent.mkdir()
    echo.write_text(ECHO)
    echo.chmod(0o700)

    def run(spec, *arguments, archive=False, **variables):
        folder = tmp_path / "a job"
        for name, text in delivered(spec, "spark-submit").files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if archive:
            (folder / "spark-submit" / "environment.tar.gz").touch()
        environ = {"PATH": f"{echo.parent}:{os.environ['PATH']}", **variables}
        environ["TMPDIR"] = str(tmp_path)
        return subprocess.run(
            ["sh", "spark-submit/submit.sh", *arguments],
            cwd=folder, env=environ, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def words_of(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def after(words, option):
    return [b for a, b in pairwise(words) if a == option]


def main_of(words):
    (main,) = (w for w in words if w.startswith("file:///") and w.endswith("/main.py"))
    return main


def test_the_script_hands_over_the_main_program_with_what_it_needs(submit):
    words = words_of(submit(SPEC, "--log", "json", MASTER="spark://h:1", STATE="/s t"))
    assert after(words, "--master") == ["spark://h:1"]
    assert after(words, "--deploy-mode") == ["client"]
    main = words.index(main_of(words))
    assert words[main + 1 :] == ["--state-dir", "/s t", "--log", "json"]
    assert set(after(words, "--conf")) == {
        "spark.pyspark.driver.python=python3",
        *(f"{key}={value}" for key, value in cluster_settings(2).items()),
    }
    assert "--packages" not in words
    assert "--archives" not in words


def test_executors_get_the_environment_that_was_packed(submit):
    words = words_of(submit(SPEC, archive=True, MASTER="m", STATE="/s"))
    (archive,) = after(words, "--archives")
    folder = main_of(words).removesuffix("/main.py")
    assert archive == f"{folder}/environment.tar.gz#environment"
    assert "spark.pyspark.python=./environment/bin/python" in after(words, "--conf")


def test_more_may_be_said_to_spark(submit):
    options = "--executor-memory 4g --jars a.jar"
    words = words_of(submit(SPEC, OPTIONS=options, MASTER="m", STATE="/s"))
    assert after(words, "--executor-memory") == ["4g"]
    assert after(words, "--jars") == ["a.jar"]


@pytest.mark.parametrize("given", [{"MASTER": "m"}, {"STATE": "/s"}])
def test_what_only_the_user_knows_is_asked_for(submit, given):
    done = submit(SPEC, **given)
    assert done.returncode != 0
    missing = ({"MASTER", "STATE"} - set(given)).pop()
    assert f"{missing}: " in done.stderr
    assert done.stdout == ""


def test_a_folder_that_the_spec_names_is_not_asked_for(submit):
    spec = JobSpec(SPEC.name, SPEC.sql, state="/mnt/state")
    words = words_of(submit(spec, MASTER="m"))
    assert words[-1] == main_of(words)
    assert "STATE" not in delivered(spec, "spark-submit").command


def test_topics_bring_the_connector_of_a_pinned_version(submit):
    words = words_of(submit(TOPIC, MASTER="m", STATE="/s"))
    (asked,) = after(words, "--packages")
    assert asked.split(",") == [str(jar) for jar in packages(CONNECTOR)]
    assert asked.startswith("org.apache.spark:spark-sql-kafka-0-10_2.13:")
    told = delivered(TOPIC, "spark-submit").files["spark-submit/submit.sh"]
    assert "Of the environment it wants BROKER, PASSWORD." in told
    needed = delivered(TOPIC, "spark-submit").files["spark-submit/requirements.txt"]
    assert "confluent-kafka==" in needed


def test_executors_need_neither_spark_nor_a_notebook():
    lines = delivered(SPEC, "spark-submit").files["spark-submit/requirements.txt"]
    names = [line.partition("==")[0] for line in lines.splitlines()]
    assert names == [
        "datafusion",
        "numpy",
        "pandas",
        "protobuf",
        "pyarrow",
        "PyYAML",
        "sqlglot",
    ]


@pytest.mark.parametrize(
    ("target", "installs", "file"),
    [
        ("spark-submit", "spark-submit/pack.sh", "spark-submit/requirements.txt"),
        ("kubernetes", "kubernetes/Dockerfile", "kubernetes/requirements.txt"),
    ],
)
def test_a_job_brings_the_evaluator_in_the_version_that_is_installed(
    target, installs, file
):
    files = delivered(SPEC, target).files
    pinned = f"datafusion=={version('datafusion')}"
    assert pinned in files[file].splitlines()
    (line,) = (line for line in files[installs].splitlines() if " -r " in line)
    assert file.partition("/")[2] in line


def test_scripts_are_ones_of_the_shell():
    files = delivered(TOPIC, "spark-submit").files
    for name in ("submit.sh", "pack.sh"):
        text = files[f"spark-submit/{name}"]
        subprocess.run(["sh", "-n"], input=text, text=True, check=True)
        if shutil.which("shellcheck"):
            subprocess.run(["shellcheck", "-"], input=text, text=True, check=True)
    compile(files["spark-submit/main.py"], "main.py", "exec")


def test_each_setting_of_a_cluster_has_a_reason_and_is_static():
    assert all(setting.why for setting in CLUSTER)
    keys = [setting.key for setting in (*CLUSTER, *SQL)]
    assert len(set(keys)) == len(keys)
    assert cluster_settings(7)["spark.default.parallelism"] == "7"


def test_nobody_but_spark_submit_starts_what_is_submitted(monkeypatch):
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    with pytest.raises(EngineProblem, match="no spark-submit has started"):
        submitted()


def manifest(spec):
    files = delivered(spec, "kubernetes").files
    made = yaml.safe_load(files["kubernetes/application.yaml"])
    # What the operator does not know of is left out there.
    assert SparkApplication.from_dict(made).to_dict() == made
    volume = yaml.safe_load(files["kubernetes/volume.yaml"])
    assert VolumeClaim.from_dict(volume).to_dict() == volume
    claims = [v["persistentVolumeClaim"]["claimName"] for v in made["spec"]["volumes"]]
    assert claims == [volume["metadata"]["name"]]
    return made


def test_the_operator_takes_the_manifest():
    made = manifest(SPEC)
    assert (made["apiVersion"], made["kind"]) == (
        "sparkoperator.k8s.io/v1beta2",
        "SparkApplication",
    )
    spec = made["spec"]
    assert (spec["type"], spec["mode"]) == ("Python", "cluster")
    assert spec["restartPolicy"]["type"] == "OnFailure"
    assert "deps" not in spec
    assert "env" not in spec["driver"]
    mounts = [
        spec[pod]["volumeMounts"][0]["mountPath"] for pod in ("driver", "executor")
    ]
    assert {*mounts} == {spec["arguments"][1]}
    assert spec["driver"]["terminationGracePeriodSeconds"] >= STOP_LIMIT_S


def test_a_field_that_the_operator_does_not_know_is_seen():
    made = manifest(SPEC)
    made["spec"]["driver"]["memroy"] = "1g"
    assert SparkApplication.from_dict(made).to_dict() != made
    del made["spec"]["executor"]
    with pytest.raises(ValueError, match="executor"):
        SparkApplication.from_dict(made)


def test_secrets_come_from_a_secret_and_into_the_driver_only():
    spec = manifest(TOPIC)["spec"]
    assert spec["driver"]["env"] == [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": "orders", "key": name}}}
        for name in ("BROKER", "PASSWORD")
    ]
    assert "env" not in spec["executor"]
    assert spec["deps"]["packages"] == [str(jar) for jar in packages(CONNECTOR)]
    told = delivered(TOPIC, "kubernetes").files["kubernetes/application.yaml"]
    assert "kubectl create secret generic orders --from-env-file=FILE" in told


def test_no_value_of_the_environment_is_in_any_file(monkeypatch):
    monkeypatch.setenv("BROKER", "host-of-ours:9092")
    monkeypatch.setenv("PASSWORD", "hush-hush")
    for target in ("spark-submit", "kubernetes"):
        made = delivered(TOPIC, target)
        text = made.command + "".join(made.files.values())
        assert "hush" not in text
        assert "host-of-ours" not in text


@pytest.mark.parametrize(
    ("parallelism", "instances", "cores"),
    [(None, 1, 2), (1, 1, 1), (4, 1, 4), (5, 2, 4), (64, 16, 4)],
)
def test_executors_have_a_core_for_each_task(parallelism, instances, cores):
    spec = manifest(with_options(SPEC, parallelism=parallelism))["spec"]
    executor = spec["executor"]
    assert (executor["instances"], executor["cores"]) == (instances, cores)
    assert executor["memory"] == f"{2048 * cores}m"
    wanted = spec["sparkConf"]["spark.default.parallelism"]
    assert wanted == str(parallelism or 2)


def test_names_are_ones_of_kubernetes_and_stay_apart():
    given = [
        "a",
        "few_ticks",
        "few-ticks",
        "Few-ticks",
        "F" * 60,
        "f" * 60,
        "a-",
        "a__",
    ]
    found = {manifest(JobSpec(n, SPEC.sql))["metadata"]["name"] for n in given}
    assert len(found) == len(given)
    assert all(len(name) <= 63 for name in found)
    for name in found:
        assert name.strip("-").replace("-", "").isalnum()
        assert name == name.lower().strip("-")


def test_a_changed_spec_is_another_image():
    one, other = (manifest(with_options(SPEC, parallelism=n))["spec"] for n in (1, 2))
    assert one["image"] != other["image"]


def test_what_is_applied_is_the_image_that_was_pushed(tmp_path):
    """By programs that write down what they are asked."""
    made = delivered(SPEC, "kubernetes")
    for name, text in made.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for program in ("docker", "kubectl"):
        path = tmp_path / program
        path.write_text(f'#!/bin/sh\necho {program} "$@"\n[ "$3" != - ] || cat\n')
        path.chmod(0o700)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    script = ["sh", "kubernetes/apply.sh"]
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "check": False}
    without = subprocess.run(script, env={"PATH": path}, **options)
    assert (without.returncode, without.stdout) == (2, "")
    assert "REGISTRY: where the images" in without.stderr
    done = subprocess.run(
        script, env={"PATH": path, "REGISTRY": "host/team"}, **options
    )
    build, push, volume, *applied = done.stdout.splitlines()
    image = f"host/team/{manifest(SPEC)['spec']['image']}"
    assert build == f"docker build -t {image} -f Dockerfile .."
    assert push == f"docker push {image}"
    assert volume == "kubectl apply -f volume.yaml"
    assert applied[0] == "kubectl apply -f -"
    assert yaml.safe_load("\n".join(applied[1:]))["spec"]["image"] == image
    assert made.command == "REGISTRY=HOST/FOLDER sh jobs/x/kubernetes/apply.sh"


@pytest.mark.parametrize("address", ["s3a://bucket/x", "hdfs://h/x", "file:///x"])
def test_state_at_an_address_is_refused_with_its_place(address, tmp_path):
    text = SPEC.text.replace("state: state", f"state: {address}")
    with pytest.raises(ArroyoError, match="state is kept in a folder") as caught:
        read(ScriptText(text, "job.yaml"))
    line = text.splitlines().index(f"state: {address}") + 1
    assert str(caught.value).startswith(f"job.yaml:{line}:8: ")
    assert "mounted at the same path" in str(caught.value)
    for named in (address, Path(address)):
        with pytest.raises(ArroyoError, match="state is kept in a folder"):
            Session(state_dir=named)
