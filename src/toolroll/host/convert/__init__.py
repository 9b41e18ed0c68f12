"""Converts documents (PDF, office, EPUB, images, audio) to text. The front is `converter.Converter`.

Each file is read by a child process without network, without writing, with limits of time and memory. May import:
`host.runtime`, `host.sandbox`, `host.search`, `host.files`, `text`, `result`.
"""
