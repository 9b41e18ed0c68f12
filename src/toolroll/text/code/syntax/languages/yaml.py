"""YAML."""

from toolroll.text.code.syntax.language import Language

LANGUAGE = Language(
    name="yaml",
    title="YAML",
    suffixes=(".yaml", ".yml"),
    code=False,
    query="""
(document (block_node (block_mapping (block_mapping_pair key: (_) @name) @key)))
(document (block_node (block_mapping (block_mapping_pair
  value: (block_node (block_mapping (block_mapping_pair key: (_) @name) @key))))))
(document (flow_node (flow_mapping (flow_pair key: (_) @name) @key)))
(document (block_node (block_sequence (block_sequence_item
  (block_node (block_mapping (block_mapping_pair key: (_) @name) @key))))))
(comment) @comment
""",
)
