// SPDX-License-Identifier: Apache-2.0
#include "core/program/key.h"

#include "core/graph/graphbuilder.h"

namespace retro::program
{

namespace
{

/// Run files keep the data of constants up to this size as well, so that their programs have the same keys.
constexpr std::int64_t kMostConstantBytes = 4096;

void addSmallConstants(base::Hasher128& hash, const graph::Graph& graph)
{
    for (const graph::Value& value : graph.values()) {
        if (value.kind == graph::ValueKind::Constant && value.constant.isValid() &&
            value.constant.bytes() <= kMostConstantBytes) {
            const tensor::Tensor plain = value.constant.contiguous();
            hash.bytes({plain.rawData(), static_cast<std::size_t>(plain.bytes())});
        }
    }
}

} // namespace

base::Hash128 programKey(const KeyFacts& facts)
{
    base::Hasher128 hash;
    hash.hash(graph::structuralHash128(facts.graph));
    addSmallConstants(hash, facts.graph);
    for (const tensor::Shape& shape : facts.shapes) {
        hash.number(shape.size());
        for (const std::int64_t extent : shape) {
            hash.number(static_cast<std::uint64_t>(extent));
        }
    }
    for (const std::string& rule : facts.rules) {
        hash.text(rule);
    }
    hash.text(facts.save);
    for (const std::span<const base::ValueId> values : {facts.targets, facts.checkpoints}) {
        hash.number(values.size());
        for (const base::ValueId value : values) {
            hash.number(value.value);
        }
    }
    hash.number(facts.stopsAtCheckpoints ? 1 : 0);
    return hash.value();
}

} // namespace retro::program
