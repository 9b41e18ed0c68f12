"""Language models: `chat` asks them, `embedding` turns texts into vectors and reranks passages.

The fronts are `chat.config.load_model`, `embedding.embedder.Embedder` and `embedding.server.Reranker`.
May import host/http and host/runtime.
"""
