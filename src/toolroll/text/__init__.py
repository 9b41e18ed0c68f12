"""Pure thinking about text. Nothing here touches the world."""
