"""`crowdcore embed`: features from texts, images and embeddings of one's own; and training on image files directly."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.data.dataset import Media
from crowdcore.data.writers import write_folder
from crowdcore.learning import TextFeatures, embedding
from testkit.crowds import simulate_crowd
from tests.data.pictures import write_bad_pictures, write_pictures


@pytest.fixture(autouse=True)
def nothing_here(tmp_path, monkeypatch):
    """Put the user's cache, without pretrained weights, into the test's folder."""
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_args: str(tmp_path / "cache"))


@pytest.fixture
def texts(tmp_path):
    """Sixty texts that say the class; the last one is blank."""
    crowd = simulate_crowd(60)
    words = [f"{('red', 'green', 'blue', 'grey')[g % 4]} and more" for g in crowd.gold[:-1]]
    columns = pd.DataFrame({"text": [*words, "  "]}, index=range(60))
    write_folder(replace(crowd, media=Media(columns=columns)), tmp_path / "texts")
    return tmp_path / "texts", words


@pytest.fixture
def photos(tmp_path):
    """Votes on forty pictures, by their names, in a CSV beside them."""
    crowd = simulate_crowd(40)
    names = write_pictures(tmp_path / "photos", crowd.gold.tolist())
    frame = crowd.annotations.assign(image=np.array(names)[crowd.task])[["image", "worker", "label"]]
    frame.to_csv(tmp_path / "photos" / "votes.csv", index=False)
    return tmp_path / "photos" / "votes.csv"


def test_empty_texts_are_named_and_features_come_with_what_makes_them(texts, run, crowdcore, refused, tmp_path):
    folder, words = texts
    assert "1 of 60 tasks" in (error := str(refused("embed", folder, tmp_path / "out"))), error
    assert "'t00059'" in error
    assert crowdcore("embed", folder)["kind"] == "tfidf"
    output = crowdcore("embed", folder, tmp_path / "out", "--accept")
    assert output["tasks"] == 59 and "t00059" in output["notes"][0]
    written, makes = cc.read_dataset(tmp_path / "out"), TextFeatures.load(tmp_path / "out" / "text_features.npz")
    np.testing.assert_allclose(np.array(written.features), makes(words), atol=1e-6)
    assert refused("embed", folder, tmp_path / "again", "--kind", "words").got == "words"


def test_what_is_spent_once_is_estimated_once(texts, monkeypatch):
    clock, loaded = [0.0], []

    def embed(dataset, kind, **settings):
        clock[0] += 0.1 * dataset.n_tasks + (0 if loaded else 30)
        loaded.append(kind)

    monkeypatch.setattr(embedding, "embed", embed)
    monkeypatch.setattr(embedding, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    assert embedding.estimate_seconds(cc.read_dataset(texts[0]), "pixels") == pytest.approx(30 + 0.1 * 60)


def test_sentences_are_embedded_by_a_model_that_is_here(texts, refused, crowdcore, monkeypatch, tmp_path):
    sentences = ("embed", texts[0], tmp_path / "out", "--accept", "--kind", "sentences")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert "sentence_transformers" in str(refused(*sentences))

    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))

    class Model:
        def __init__(self, name, device, local_files_only):
            if name != "mine" or not local_files_only:
                raise OSError(name)

        def encode(self, given):
            return np.array([[len(text), 1.0] for text in given])

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Model))
    assert "not on this machine" in str(refused(*sentences, "--model", "theirs"))
    assert "Hugging Face's cache" in str(refused(*sentences))
    assert crowdcore("embed", texts[0])["kinds"] == ["tfidf"]
    for name, file in (("mine", "modules.json"), ("a--language-model", "config.json")):
        (tmp_path / "hub" / f"models--{name}" / "snapshots" / "1").mkdir(parents=True)
        (tmp_path / "hub" / f"models--{name}" / "snapshots" / "1" / file).touch()
    assert crowdcore("embed", texts[0])["kinds"] == ["tfidf", "sentences"]
    crowdcore(*sentences)
    features = np.array(cc.read_dataset(tmp_path / "out").features)
    assert features[:, 0].tolist() == [len(text) for text in texts[1]]


def test_embeddings_of_ones_own_come_from_a_file_or_a_column(crowdcore, refused, tmp_path):
    crowd = simulate_crowd(20)
    own = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    frame = crowd.annotations.assign(vector=[f"[{a}, {b}, {c}]" for a, b, c in own[crowd.task]])
    frame.to_csv(tmp_path / "votes.csv", index=False)
    np.save(tmp_path / "own.npy", own)
    for out, given in (("file", tmp_path / "own.npy"), ("column", "vector")):
        crowdcore("embed", tmp_path / "votes.csv", tmp_path / out, "--given", given)
        np.testing.assert_allclose(np.array(cc.read_dataset(tmp_path / out).features), own, rtol=1e-6)
    np.save(tmp_path / "short.npy", own[1:])
    assert "must be a row" in str(refused("embed", tmp_path / "votes.csv", "--given", tmp_path / "short.npy"))
    assert "further column" in str(refused("embed", tmp_path / "votes.csv", tmp_path / "no", "--given", "words"))
    assert "neither texts nor images" in str(refused("embed", tmp_path / "votes.csv", tmp_path / "no"))


def test_images_beside_a_table_are_kept_as_pixels_and_trained_on(photos, run, crowdcore, refused, tmp_path):
    assert crowdcore("embed", photos)["kinds"] == ["efficientnet", "pixels"]
    crowdcore("embed", photos, tmp_path / "out", "--kind", "pixels", "--side", 16, "--read", "test_share=0.25")
    made = cc.read_dataset(tmp_path / "out")
    assert made.media.images.shape == (40, 16, 16, 3) and isinstance(made.media.images.arrays[0], np.memmap)
    assert (made.split == 2).sum() == 10
    small = ("--set", "backbone=cnn", "--set", 'backbone_settings={"width": 4}', "--seeds", 1, "--epochs", 1)
    trained = run("train", photos, "-m", "dl-mv", *small, "--set", "select_on=none").out
    assert "dl-mv" in trained and "one seed" in trained and "no test task" in trained
    assert "raw pixels, as asked" in " ".join(trained.split())
    (photos.parent / "p003.png").write_bytes(b"")
    error = str(refused("train", photos, *small))
    assert "p003.png" in error and "accept=True" in error


def test_photos_are_learnt_by_a_pretrained_network_from_the_command_line_and_in_python_alike(
    photos, run, refused, monkeypatch
):
    once = {"method": "dl-mv", "seeds": 1, "epochs": 1, "select_on": "none"}
    result = cc.learning.train(cc.read_dataset(photos), **once)
    assert result.input_shape == (1280,)
    text = " ".join(
        run("train", photos, "-m", "dl-mv", "--seeds", 1, "--epochs", 1, "--set", "select_on=none").out.split()
    )
    assert all("EfficientNet-Lite0 features" in error for error in (text, " ".join(result.notes)))
    monkeypatch.setattr(embedding, "has_efficientnet", lambda: False)
    for command in (
        ("train", photos, "-m", "dl-mv"),
        ("runs", "start", photos, "-m", "dl-mv"),
        ("embed", photos, "out"),
    ):
        error = str(refused(*command))
        assert "pip install 'crowdcore[images]'" in error and "backbone=cnn" in error


def test_binary_annotators_are_planted_on_a_folder_of_two_classes(run, crowdcore, refused, tmp_path):
    for code, name in enumerate(("cat", "dog")):
        write_pictures(tmp_path / "pets" / name, [code] * 15)
    assert "has no gold" not in run("info", tmp_path / "pets").err  # all are known, nobody has labelled them
    planted = crowdcore("simulate", "rodrigues", "--on", tmp_path / "pets", "--out", tmp_path / "crowd")
    assert planted["annotations"] == 150
    crowd = cc.read_dataset(tmp_path / "crowd")
    assert crowd.media.columns["image"][0] == "cat/p000.png"
    small = ("--train", "backbone=cnn", "--train", 'backbone_settings={"width": 4}', "--train", "select_on=none")
    crowdcore("simulate", "rodrigues", "--on", tmp_path / "pets", "-m", "crowd-layer", *small, "--epochs", 1)
    write_pictures(tmp_path / "pets" / "cow", [2])
    error = str(refused("simulate", "rodrigues", "--on", tmp_path / "pets"))
    assert "3 classes" in error


def test_a_study_on_images_leaves_out_what_cannot_be_used_with_consent_alone(run, refused, tmp_path):
    for code, name in enumerate(("cat", "dog")):
        write_pictures(tmp_path / "pets" / name, [code] * 15)
    (tmp_path / "pets" / "cat" / "p003.png").write_bytes(b"")
    small = ("--train", "backbone=cnn", "--train", 'backbone_settings={"width": 4}', "--train", "select_on=none")
    args = ("simulate", "rodrigues", "--on", tmp_path / "pets", "-m", "crowd-layer", "-m", "trace", *small)
    args = (*args, "--epochs", 1)
    error = str(refused(*args))
    assert "p003.png" in error and "accept=True" in error
    done = run(*args, "--accept")
    assert done.code == 0, done.err
    assert " ".join(done.out.split()).count("Left out: 1 of 30 ") == 1


def test_what_training_cannot_use_is_left_out_with_consent_alone(photos, texts, run, refused, tmp_path):
    bad = write_bad_pictures(photos.parent)
    frame = pd.read_csv(photos).rename(columns={"image": "task"})
    frame["image"] = frame["task"].replace({f"p{i:03d}.png": name for i, name in enumerate(bad)})
    frame.to_csv(photos, index=False)
    for source, setting, faults in (
        (photos, ("--set", "backbone=cnn", "--set", 'backbone_settings={"width": 4}'), bad),
        (texts[0], (), {"t00059": "the text is empty"}),
    ):
        sources, once = (source, "-m", "dl-mv", *setting, "--epochs", 1, "--set", "select_on=none"), ("--seeds", 1)
        for command in (("train",), ("compare",), ("runs", "start")):
            error = str(refused(*command, *sources, *(() if command == ("compare",) else once)))
            for name, what in faults.items():
                assert name in error and what in error
        done = run("train", *sources, *once, "--accept", "--out", tmp_path / "kept")
        assert done.code == 0, done.err
        text = " ".join(done.out.split())
        assert f"Left out: {len(faults)} of " in text
        result = cc.learning.load_result(tmp_path / "kept")
        opened = cc.read_dataset(source)
        left_out = {str(task) for task in opened.task_ids.delete(result.task)}
        assert left_out == ({f"p{i:03d}.png" for i in range(len(bad))} if source is photos else set(faults))
        assert any(note.startswith("Left out:") for note in result.notes)
