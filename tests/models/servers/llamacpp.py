"""Runs the HTTP server of llama.cpp with a model until it is ended, and prints where it listens.

    llamacpp.py MODEL [--key KEY] [--embeddings]
"""
import argparse
import signal

import xllamacpp

arguments = argparse.ArgumentParser()
arguments.add_argument("model")
arguments.add_argument("--key")
arguments.add_argument("--embeddings", action="store_true")
wanted = arguments.parse_args()

parameters = xllamacpp.CommonParams()
parameters.model.path = wanted.model
parameters.hostnames = ["127.0.0.1"] if isinstance(parameters.hostnames, list) else "127.0.0.1"
parameters.port = 0
parameters.n_ctx = 1024
parameters.n_parallel = 1
parameters.cpuparams.n_threads = 1
parameters.cpuparams_batch.n_threads = 1
parameters.n_threads_http = 4
parameters.warmup = False
parameters.use_jinja = True
parameters.embedding = wanted.embeddings
if wanted.embeddings:
    parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
parameters.api_keys = [wanted.key] if wanted.key else []
server = xllamacpp.Server(parameters)
print(f"listening on {server.listening_address}", flush=True)
signal.pause()
