#!/usr/bin/env python3
"""One peer embeds the texts of a file: peer.py PEER --model DIR --texts FILE --threads N --batch B [--out vectors.npy].

Peers: sentence-transformers (its own sorting), onnxruntime (the same weights exported once and fused by its transformer optimiser;
tokenised by the tokenizers crate's Python package, sorted by length, padded to the longest of a batch), fastembed (its session settings on
that export). Prints one JSON line: seconds of embedding without loading, texts a second, tokens padded per token.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np


def texts_of(path):
    return Path(path).read_text(encoding="utf-8").splitlines()


def pooled(hidden, mask):
    mask = mask[..., None].astype(np.float32)
    mean = (hidden * mask).sum(1) / np.maximum(mask.sum(1), 1e-9)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def exported(model):
    """The model as ONNX beside its folder, fused; made once."""
    fused = Path(model) / "bench-fused.onnx"
    if not fused.exists():
        import torch
        from onnxruntime.transformers import optimizer
        from transformers import AutoConfig, AutoModel

        plain = fused.with_name("bench-plain.onnx")
        network = AutoModel.from_pretrained(model, attn_implementation="eager").eval()
        network.config.return_dict = False
        ones = torch.ones(2, 8, dtype=torch.long)
        names = ["input_ids", "attention_mask", "token_type_ids"]
        axes = {name: {0: "batch", 1: "tokens"} for name in [*names, "hidden"]}
        torch.onnx.export(network, (ones, ones, ones * 0), str(plain), input_names=names, output_names=["hidden"], dynamic_axes=axes, opset_version=14, dynamo=False)
        config = AutoConfig.from_pretrained(model)
        optimizer.optimize_model(str(plain), "bert", num_heads=config.num_attention_heads, hidden_size=config.hidden_size).save_model_to_file(str(fused))
    return fused


def with_onnx(args, texts, arena):
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = arena
    session = onnxruntime.InferenceSession(str(exported(args.model)), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(Path(args.model) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(args.max_tokens)

    def run():
        encoded = tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda i: -len(encoded[i].ids))
        out = np.empty((len(texts), session.get_outputs()[0].shape[-1] or 384), np.float32)
        n_tokens = n_padded = 0
        for start in range(0, len(order), args.batch):
            chosen = order[start : start + args.batch]
            longest = max(len(encoded[i].ids) for i in chosen)
            ids = np.zeros((len(chosen), longest), np.int64)
            mask = np.zeros_like(ids)
            for row, i in enumerate(chosen):
                ids[row, : len(encoded[i].ids)] = encoded[i].ids
                mask[row, : len(encoded[i].ids)] = 1
            hidden = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0})[0]
            out[chosen] = pooled(hidden, mask)
            n_tokens += int(mask.sum())
            n_padded += ids.size
        return out, n_padded / n_tokens

    return run


def with_sentence_transformers(args, texts):
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(args.threads)
    model = SentenceTransformer(args.model, device="cpu")
    model.max_seq_length = args.max_tokens
    return lambda: (model.encode(texts, batch_size=args.batch, normalize_embeddings=True, show_progress_bar=False), None)


def with_fastembed(args, texts):
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    exported(args.model)
    TextEmbedding.add_custom_model(
        model="bench/model", pooling=PoolingType.MEAN, normalization=True, sources=ModelSource(url="none"), dim=384, model_file="bench-fused.onnx"
    )
    model = TextEmbedding("bench/model", specific_model_path=str(args.model), threads=args.threads)
    return lambda: (np.array(list(model.embed(texts, batch_size=args.batch))), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("peer", choices=["sentence-transformers", "onnxruntime", "fastembed"])
    parser.add_argument("--model", required=True)
    parser.add_argument("--texts", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--out")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    texts = texts_of(args.texts)
    run = {
        "sentence-transformers": lambda: with_sentence_transformers(args, texts),
        "onnxruntime": lambda: with_onnx(args, texts, True),
        "fastembed": lambda: with_fastembed(args, texts),
    }[args.peer]()
    started = time.perf_counter()
    vectors, padding = run()
    seconds = time.perf_counter() - started
    if args.out:
        np.save(args.out, np.asarray(vectors, np.float32))
    print(json.dumps({"peer": args.peer, "batch": args.batch, "threads": args.threads, "texts": len(texts), "seconds": seconds, "padding": padding}))


if __name__ == "__main__":
    main()
