// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/run.h"

#include <QtGlobal>

#include <bit>
#include <cstdint>
#include <optional>
#include <random>

namespace retro::luttest
{

/// Multiples of 1/16 from −2 to 2: differences are often equal, and sums are exact in every order.
template <class T>
std::vector<T> gridValues(std::size_t count, std::mt19937& random)
{
    std::vector<T> values(count);
    for (T& value : values) {
        value = static_cast<T>(static_cast<int>(random() % 65) - 32) / T(16);
    }
    return values;
}

/// Weights as numbers of 16 bits: what does not fit is cut off, and none may be denormal there.
inline std::vector<std::uint16_t> narrowed(const std::vector<float>& weights, lut::RowType type)
{
    std::vector<std::uint16_t> result;
    for (const float weight : weights) {
        const auto bits = std::bit_cast<std::uint32_t>(weight);
        const std::uint32_t upper = bits >> 16;
        const std::uint32_t half = weight == 0 ? 0 : ((bits >> 23 & 0xFFU) - 112U) << 10 | (bits >> 13 & 0x3FFU);
        result.push_back(static_cast<std::uint16_t>(type == lut::RowType::BFloat16 ? upper : (upper & 0x8000U) | half));
    }
    return result;
}

/// A random layer with a batch and a gradient of its output. Some anchor pairs are unused, some sparse rows are empty.
template <class T>
struct SampleLayer
{
    lut::LayerShape shape;
    bool isSparse = false;
    std::uint64_t batch = 0;
    std::vector<lut::Anchor> anchors;
    std::vector<T> weights;
    std::vector<std::uint64_t> rowStarts;
    std::vector<std::uint32_t> columns;
    std::vector<T> codes;
    std::vector<T> input;
    std::vector<T> outputGradients;
    std::uint32_t forwardGroup = 3;
    std::uint32_t backwardGroup = 5;

    SampleLayer(const lut::LayerShape& wanted, bool sparse, std::uint64_t samples, unsigned seed)
        : shape(wanted), isSparse(sparse), batch(samples)
    {
        std::mt19937 random(seed);
        for (std::uint64_t i = 0; i < std::uint64_t{shape.tables} * shape.comparisons; ++i) {
            const auto a = static_cast<std::uint32_t>(random() % shape.inputs);
            const auto b = (a + 1 + static_cast<std::uint32_t>(random() % (shape.inputs - 1))) % shape.inputs;
            const bool isUnused = random() % 11 == 0;
            anchors.push_back(isUnused ? lut::Anchor{lut::kUnusedAnchor, lut::kUnusedAnchor} : lut::Anchor{a, b});
        }
        if (isSparse) {
            connect(random);
        }
        weights = gridValues<T>(isSparse ? columns.size() : shape.neurons() * shape.outputs, random);
        codes = gridValues<T>(std::uint64_t{shape.lags()} * shape.tables * shape.codeBits, random);
        input = gridValues<T>(batch * shape.length * shape.inputs, random);
        outputGradients = gridValues<T>(batch * shape.length * shape.outputs, random);
    }

    [[nodiscard]] lut::LayerDescription<T> description() const
    {
        return {shape, anchors, weights, isSparse, rowStarts, columns, codes, forwardGroup, backwardGroup};
    }

    /// The same with its weights stored in 16 bits; borrows them.
    [[nodiscard]] lut::LayerDescription<T> narrowDescription(const std::vector<std::uint16_t>& bits,
                                                             lut::RowType type) const
    {
        lut::LayerDescription<T> narrow = description();
        if (type != lut::RowType::Real) {
            narrow.weights = {};
            narrow.rowType = type;
            narrow.narrowWeights = bits;
        }
        return narrow;
    }

private:
    void connect(std::mt19937& random)
    {
        rowStarts.push_back(0);
        for (std::uint64_t n = 0; n < shape.neurons(); ++n) {
            for (std::uint32_t o = 0; o < shape.outputs && n % 4 != 0; ++o) {
                if (random() % 2 == 0) {
                    columns.push_back(o);
                }
            }
            rowStarts.push_back(columns.size());
        }
    }
};

/// The layer of a description; the program of tests ends where there can be none.
template <class T>
lut::Layer<T> layerOf(const lut::LayerDescription<T>& description)
{
    std::optional<lut::Layer<T>> layer;
    if (const lut::Status status = lut::Layer<T>::create(description, layer); !status.ok()) {
        qFatal("%s", status.message.c_str());
    }
    return *std::move(layer);
}

} // namespace retro::luttest
