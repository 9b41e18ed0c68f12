"""Pure decisions: what may be done. Nothing here touches the world."""
