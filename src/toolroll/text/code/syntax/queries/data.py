"""Queries for JSON, YAML, TOML and Markdown: of data, the two upper levels."""

JSON = """
(document (object (pair key: (string) @name) @key))
(document (object (pair value: (object (pair key: (string) @name) @key))))
(document (array (object (pair key: (string) @name) @key)))
"""

YAML = """
(document (block_node (block_mapping (block_mapping_pair key: (_) @name) @key)))
(document (block_node (block_mapping (block_mapping_pair
  value: (block_node (block_mapping (block_mapping_pair key: (_) @name) @key))))))
(document (flow_node (flow_mapping (flow_pair key: (_) @name) @key)))
(document (block_node (block_sequence (block_sequence_item
  (block_node (block_mapping (block_mapping_pair key: (_) @name) @key))))))
(comment) @comment
"""

TOML = """
(document (pair . (_) @name) @key)
(table . "[" . (_) @name) @key
(table_array_element . "[[" . (_) @name) @key
(table (pair . (_) @name) @key)
(table_array_element (pair . (_) @name) @key)
(comment) @comment
"""

MARKDOWN = """
(atx_heading (atx_h1_marker) heading_content: (_) @name) @heading.1
(atx_heading (atx_h2_marker) heading_content: (_) @name) @heading.2
(atx_heading (atx_h3_marker) heading_content: (_) @name) @heading.3
(atx_heading (atx_h4_marker) heading_content: (_) @name) @heading.4
(atx_heading (atx_h5_marker) heading_content: (_) @name) @heading.5
(atx_heading (atx_h6_marker) heading_content: (_) @name) @heading.6
(setext_heading heading_content: (_) @name (setext_h1_underline)) @heading.1
(setext_heading heading_content: (_) @name (setext_h2_underline)) @heading.2
"""
