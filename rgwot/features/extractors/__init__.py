"""The frozen image networks that features come from, one file each.

Extractor ``x`` is an entry of `rgwot.config.extractors.EXTRACTORS` and the module `rgwot.features.extractors.x` with

- ``network()``, an `nn.Module` that maps standardised frames ``(B, 3, H, W)`` to maps
  ``(B, channels, ceil(H / stride), ceil(W / stride))``; its state has the names that the published checkpoints use;
- ``randomise(network, generator)``, which draws random weights in place.

A file may hold a family, with ``members`` in its entry: extractor ``x:member``. Its ``network(member)`` gives maps or
vectors ``(B, D)``, or what its ``maps(member, output)`` turns into them; ``weights(member, name)`` gives the state of
weights by their name, and ``check(member, name)`` refuses those it does not have.
"""
