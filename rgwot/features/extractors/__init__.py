"""The frozen image networks that features come from, one file each.

Extractor ``x`` is the module `rgwot.features.extractors.x`: its ``ABOUT`` (`rgwot.config.extractors.Extractor`), and

- ``network_x()``, an `nn.Module` that maps standardised frames ``(B, 3, H, W)`` to maps
  ``(B, channels, ceil(H / stride), ceil(W / stride))``; its state has the names that the published checkpoints use;
- ``randomise_x(network, generator)``, which draws random weights in place.
"""
