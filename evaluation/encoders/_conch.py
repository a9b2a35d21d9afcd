"""CONCH v1.5's image tower: a ViT-L/16 whose tokens one learnt query pools by attention.

The names of the parts are those of the published checkpoint.
"""

from __future__ import annotations

from typing import Any

_WIDTH, _POOLED, _HEADS = 1024, 768, 8


def build_conch(input_size: int) -> Any:
    """Return the network without weights; its `tokens` and `pool` give what comes before and after the pooler."""
    import torch
    from timm.models.vision_transformer import VisionTransformer
    from torch import nn
    from torch.nn import functional

    class Pooler(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Parameter(torch.randn(1, _POOLED))
            self.ln_q, self.ln_k = nn.LayerNorm(_POOLED), nn.LayerNorm(_WIDTH)
            self.to_q = nn.Linear(_POOLED, _POOLED, bias=False)
            self.to_kv = nn.Linear(_WIDTH, 2 * _POOLED, bias=False)
            self.to_out = nn.Linear(_POOLED, _POOLED, bias=False)

        def forward(self, tokens: Any) -> Any:
            def by_head(values: Any) -> Any:
                return values.unflatten(-1, (_HEADS, -1)).transpose(1, 2)

            query = self.to_q(self.ln_q(self.query)).expand(len(tokens), -1, -1)
            keys, values = self.to_kv(self.ln_k(tokens)).chunk(2, dim=-1)
            mixed = functional.scaled_dot_product_attention(by_head(query), by_head(keys), by_head(values))
            return self.to_out(mixed.transpose(1, 2).flatten(2))

    class Tower(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.trunk = VisionTransformer(
                img_size=input_size,
                patch_size=16,
                embed_dim=_WIDTH,
                depth=24,
                num_heads=16,
                init_values=1.0,
                num_classes=0,
                dynamic_img_size=True,
            )
            self.attn_pool_contrast = Pooler()
            self.ln_contrast = nn.LayerNorm(_POOLED)

        def tokens(self, pixels: Any) -> Any:
            return self.trunk.forward_features(pixels)

        def pool(self, tokens: Any) -> Any:
            return self.ln_contrast(self.attn_pool_contrast(tokens)[:, 0])

    return Tower()
