# SPDX-License-Identifier: Apache-2.0
"""Graphs for checkpoints of transformers: the logits of the network itself; what is not known is refused."""
import json
import pathlib
import subprocess
import sys

import capturing

numpy, torch, transformers, _, _ = capturing.need("numpy", "torch", "transformers", "safetensors", "onnx")
from retrograde.capture import checkpoint, client
from retrograde.errors import InputError

SHAPE = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": 1,
         "eos_token_id": 2, "pad_token_id": 0}
TURNS = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 16}
GEMMA = {"head_dim": 16, "query_pre_attn_scalar": 12, "sliding_window": 5}
#: configuration, network and what is special
NETWORKS = {
    "llama": ("Llama", {"rope_scaling": TURNS}),
    "llama_tied": ("Llama", {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True}),
    "mistral": ("Mistral", {"sliding_window": 5}),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"head_dim": 16}),
    "gemma2": ("Gemma2", GEMMA),
    "gemma3": ("Gemma3", {**GEMMA, "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]}),
    "phi3": ("Phi3", {}),
    "gpt2": ("GPT2", {}),
    "mixtral": ("Mixtral", {"num_local_experts": 4}),
    "qwen3_moe": ("Qwen3Moe", {"head_dim": 16, "moe_intermediate_size": 24, "num_experts": 4, "num_experts_per_tok": 2,
                               "norm_topk_prob": True}),
}


def network_of(name):
    """A small network with random weights; None where this version of transformers has it not."""
    family, special = NETWORKS[name]
    config = getattr(transformers, f"{family}TextConfig" if family == "Gemma3" else f"{family}Config", None)
    kind = getattr(transformers, "GPT2LMHeadModel" if family == "GPT2" else f"{family}ForCausalLM", None)
    if config is None or kind is None:
        return None
    torch.manual_seed(1)
    network = kind(config(**SHAPE, **special, attn_implementation="eager")).eval()
    with torch.no_grad():
        for weight in network.parameters():  # biases and scales are not all the same
            weight.add_(0.05 * torch.randn_like(weight))
    return network


class Checkpoints(capturing.Case):
    def saved(self, name, **options):
        network = network_of(name)
        if network is None:
            self.skipTest(f"this transformers has no {name}")
        network.save_pretrained(self.folder / name, **options)
        return network, self.folder / name

    def logits_of(self, path, ids):
        numpy.save(self.folder / "ids.npy", ids.numpy())
        out = path.parent / "out"
        command = [client.program(), "run", path, "--input", self.folder / "ids.npy", "--output-dir", out]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return numpy.load(out / "logits.npy")

    def test_the_logits_are_those_of_the_network(self):
        ids = torch.arange(3, 15)[None] * 5 % 61
        for name in NETWORKS:
            with self.subTest(name):
                network, folder = self.saved(name, max_shard_size="20KB" if name == "llama" else "1GB")
                before = {file: file.read_bytes() for file in folder.glob("*.safetensors")}
                path = pathlib.Path(checkpoint.write(folder))
                self.assertLess(path.stat().st_size, 60_000)  # the weights stay where they are
                self.assertEqual(before, {file: file.read_bytes() for file in folder.glob("*.safetensors")})
                with torch.no_grad():
                    wanted = network(ids).logits.numpy()
                found = self.logits_of(path, ids)
                self.assertLess(float(abs(found - wanted).max() / abs(wanted).max()), 1e-5)

    def test_words_are_explained(self):
        _, folder = self.saved("llama")
        path = checkpoint.write(folder)
        answer = client.explain(path, {"input_ids": numpy.array([[3, 8, 13]])}, "attnlrp")
        self.assertEqual(answer["input_ids"].shape, (1, 3))
        self.assertTrue(abs(answer["input_ids"]).max() > 0)

    def test_what_is_not_known_is_refused_by_name(self):
        _, folder = self.saved("llama")
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        for change, words in (({"model_type": "rwkv"}, ("'rwkv'", "llama")), ({"hidden_act": "xielu"}, ("'xielu'",)),
                              ({"rope_scaling": {"rope_type": "yarn", "factor": 2.0}, "rope_parameters": None},
                               ("'yarn'",)), ({"num_hidden_layers": 4}, ("no tensor", "layers.3"))):
            (folder / "config.json").write_text(json.dumps({**config, **change}), encoding="utf-8")
            with self.refused(InputError, *words):
                checkpoint.write(folder)
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        with self.refused(InputError, "without a folder"):
            checkpoint.write(folder, "elsewhere/model.onnx")
        with self.refused(InputError, "ends in .onnx"):
            checkpoint.write(folder, "model.safetensors")
        weights = folder / "model.safetensors"
        whole = weights.read_bytes()
        for broken in (whole[:5], b"\xff" * 16 + whole[16:], whole[:-4]):
            weights.write_bytes(broken)
            with self.refused(InputError):
                checkpoint.write(folder)
        weights.unlink()
        with self.refused(InputError, "no .safetensors"):
            checkpoint.write(folder)

    def test_it_is_a_program(self):
        _, folder = self.saved("gpt2")
        command = [sys.executable, "-m", "retrograde.capture.checkpoint", folder]
        environment = {"PYTHONPATH": str(capturing.ROOT / "app/python")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.strip(), str(folder / "model.onnx"), done.stderr)
        done = subprocess.run([*command[:3], self.folder / "none"], env=environment, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("config.json cannot be read", done.stderr)


if __name__ == "__main__":
    capturing.run()
