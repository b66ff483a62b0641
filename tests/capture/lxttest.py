# SPDX-License-Identifier: Apache-2.0
"""Relevance of the words of small language models beside LXT (efficient AttnLRP), which is run here: both ways of
having no stabiliser, to 1e-6 of the largest. LXT 2.1 wants transformers < 5; where it cannot be loaded the test is
skipped."""
import subprocess
import sys

import capturing

numpy, torch, transformers, _, _ = capturing.need("numpy", "torch", "transformers", "safetensors", "onnx")
try:
    from lxt.efficient import monkey_patch
except Exception as error:  # of many kinds: it reaches into transformers, and breaks with its versions
    print(f"skipped: {sys.executable} cannot load lxt beside transformers {transformers.__version__} ({error!r})")
    sys.exit(capturing.SKIPPED)
from retrograde.capture import checkpoint, client

SHAPE = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": 1,
         "eos_token_id": 2, "pad_token_id": 0, "attn_implementation": "eager"}
GEMMA = {"head_dim": 16, "query_pre_attn_scalar": 12, "sliding_window": 5,
         "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]}
#: module of transformers, configuration, network, and what is special
NETWORKS = {"llama": ("llama", "LlamaConfig", "LlamaForCausalLM", {}),
            "qwen2": ("qwen2", "Qwen2Config", "Qwen2ForCausalLM", {}),
            "qwen3": ("qwen3", "Qwen3Config", "Qwen3ForCausalLM", {"head_dim": 16}),
            "gemma3": ("gemma3", "Gemma3TextConfig", "Gemma3ForCausalLM", GEMMA),
            "gpt2": ("gpt2", "GPT2Config", "GPT2LMHeadModel", {})}
FORMS = ("attnlrp:epsilon=0", "attnlrp:form=gradient_x_input")
TOKENS = 12
TARGET = 7


class BesideLxt(capturing.Case):
    def ours(self, path, ids, composite):
        numpy.save(self.folder / "ids.npy", ids.numpy())
        out = path.parent / "out"
        command = [client.program(), "explain", path, "--input", self.folder / "ids.npy", "--composite", composite,
                   "--precision", "double", "--target", f"logits:0,{TOKENS - 1},{TARGET}", "--output-dir", out]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return numpy.load(out / "relevance" / "input_ids.npy")[0]

    def theirs(self, network, ids):
        embedded = network.get_input_embeddings()(ids).detach().requires_grad_()
        network(inputs_embeds=embedded, use_cache=False).logits[0, -1, TARGET].backward()
        return (embedded * embedded.grad).sum(-1)[0].detach().numpy()

    def test_words_have_the_same_relevance(self):
        ids = torch.arange(3, 3 + TOKENS)[None] * 5 % 61
        for name, (module, config, kind, special) in NETWORKS.items():
            with self.subTest(name):
                family = getattr(transformers.models, module)
                monkey_patch(getattr(family, f"modeling_{module}"))
                torch.manual_seed(1)
                network = getattr(transformers, kind)(getattr(transformers, config)(**SHAPE, **special)).eval().double()
                with torch.no_grad():
                    for weight in network.parameters():  # biases and scales are not all the same
                        weight.add_(0.05 * torch.randn_like(weight)).requires_grad_(False)
                network.save_pretrained(self.folder / name)
                path = self.folder / name / "model.onnx"
                checkpoint.write(self.folder / name)
                wanted = self.theirs(network, ids)
                for composite in FORMS:
                    found = self.ours(path, ids, composite)
                    apart = float(abs(found - wanted).max() / abs(wanted).max())
                    print(f"{name}, {composite}: {apart:.1e} of the largest")
                    self.assertLess(apart, 1e-6)


if __name__ == "__main__":
    capturing.run()
