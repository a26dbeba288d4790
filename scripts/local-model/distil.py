"""Makes the vectors of the embedder `local`: a table of words, distilled from a sentence encoder.

Every word and piece of the encoder's vocabulary goes through it by itself; the results are reduced to their principal
components, and each word gets the weight a / (a + p), where p is how frequent it is, so that frequent words tell little
(Arora et al. 2017; the recipe of Model2Vec). The vocabulary stands in the order of frequency, so Zipf's law gives p.
Afterwards the encoder is not needed any more: a text's vector is the weighted sum of its words' rows.

    distil.py --onnx model.onnx --tokenizer tokenizer.json --out runner/steps/embed/models/static-en-256.bin

The encoder that was used: sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), as an int8 ONNX file.
Needs onnxruntime, tokenizers and numpy. The form of the file is described in runner/steps/embed/static-model.ts.
"""
import argparse
import os
import re
import struct

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

DIMENSIONS = 256
SMOOTHING = 1e-4
# Pieces of the tokenizer that can stand in a word of Latin letters.
PIECE = re.compile(r"(##)?[a-z0-9\u00c0-\u024f]+")
# Marks of beginning and end, and the first piece that is a word: those before it are characters and places to fill.
BEGIN, END, FIRST_WORD = 101, 102, 996


def encode(session, ids):
    """Each piece between the marks of beginning and end, as the encoder saw texts when it was trained."""
    names = {i.name for i in session.get_inputs()}
    out = np.zeros((len(ids), 384), np.float32)
    for start in range(0, len(ids), 512):
        batch = np.array([[BEGIN, i, END] for i in ids[start : start + 512]])
        given = {"input_ids": batch, "attention_mask": np.ones_like(batch), "token_type_ids": np.zeros_like(batch)}
        result = session.run(None, {k: v for k, v in given.items() if k in names})[0]
        out[start : start + len(batch)] = result.mean(1) if result.ndim == 3 else result
    return out


def reduced(vectors):
    centred = vectors - vectors.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred / len(centred))
    return centred @ axes[:, ::-1][:, :DIMENSIONS]


def weights(ids):
    rank = np.maximum(1, np.array(ids) - FIRST_WORD) + 2
    share = 1 / (rank * np.log(len(ids)))
    return (SMOOTHING / (SMOOTHING + share)).astype(np.float32)


def write(path, words, rows, weight):
    largest = np.abs(rows).max(1)
    bytes_ = np.round(rows / largest[:, None] * 127).astype(np.int8)
    scales = (largest / 127 * weight).astype("<f4")
    text = "\n".join(words).encode()
    text += b"\n" * (-len(text) % 4)
    with open(path, "wb") as file:
        file.write(struct.pack("<4sIIII", b"FLSM", 1, len(words), DIMENSIONS, len(text)))
        file.write(text)
        file.write(scales.tobytes())
        file.write(bytes_.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--onnx", "--tokenizer", "--out"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    vocabulary = Tokenizer.from_file(args.tokenizer).get_vocab()
    pieces = sorted((i, piece) for piece, i in vocabulary.items() if PIECE.fullmatch(piece))
    ids, words = [i for i, _ in pieces], [piece for _, piece in pieces]
    vectors = encode(onnxruntime.InferenceSession(args.onnx), ids)
    write(args.out, words, reduced(vectors), weights(ids))
    print(f"{len(words)} words, {DIMENSIONS} dimensions, {os.path.getsize(args.out) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
