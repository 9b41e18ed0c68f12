"""Pure decisions: what may be done. Nothing here touches the world.

`decision` is the vocabulary at the bottom. Fronts: `rules.judge` for tools and paths, `commands.judge` for shell text,
`git.judge`, `urls.judge`. Imports only `toolroll.result`.
"""
