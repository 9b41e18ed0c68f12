"""Chat models of any provider: `config.load_model` finds the one that is set up, `model.ChatModel` asks it.

The SDKs of the providers (extra `agent`) are imported on first use. May import host/http and host/runtime.
"""
