"""The daemon: one process per user that holds the models, and the client that talks to it.

    editor's server -> client -> launcher -> supervisor -> host (server, pool, workers, engines)

`client`, `launcher`, `endpoint`, `protocol` and what they import stay light: no engine, no llama_cpp.
"""
