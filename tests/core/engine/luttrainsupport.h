// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/luttrain/luttraining.h"

#include <QtTest>

#include <array>
#include <bit>
#include <random>

// Data and networks that tests train.
namespace retro::luttrain
{

/// Which of two numbers is larger decides, and a third whether that is turned round: no single comparison knows.
inline engine::LutDataSet comparisons(std::size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<float> x;
    std::vector<std::int64_t> y;
    for (std::size_t i = 0; i < count; ++i) {
        std::array<float, 4> v{};
        for (float& one : v) {
            one = static_cast<float>(random() % 1000) / 1000;
        }
        x.insert(x.end(), v.begin(), v.end());
        y.push_back((v[0] > v[1]) != (v[2] > v[3]) ? 1 : 0);
    }
    const auto n = static_cast<std::int64_t>(count);
    return {tensor::Tensor::of<float>({n, 4}, x), tensor::Tensor::of<std::int64_t>({n}, y)};
}

inline engine::LutNetwork network(std::vector<engine::LutLayerPlan> layers, std::uint32_t inputs = 4,
                                  std::uint32_t length = 1, std::uint32_t vocabulary = 0)
{
    engine::LutNetworkPlan plan;
    plan.inputs = inputs;
    plan.length = length;
    plan.vocabulary = vocabulary;
    plan.classes = 2;
    plan.layers = std::move(layers);
    return tests::made(engine::LutNetwork::create(plan));
}

/// Strings of eight letters, one of them a or b: that one is the class.
inline engine::LutDataSet letters(std::size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<std::int64_t> x;
    std::vector<std::int64_t> y;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = random() % 7;
        y.push_back(static_cast<std::int64_t>(random() % 2));
        for (std::size_t k = 0; k < 8; ++k) {
            x.push_back(k == at ? y.back() : k == 7 ? 11 : 2 + static_cast<std::int64_t>(random() % 9));
        }
    }
    const auto n = static_cast<std::int64_t>(count);
    return {tensor::Tensor::of<std::int64_t>({n, 8}, x), tensor::Tensor::of<std::int64_t>({n}, y)};
}

inline std::vector<std::uint32_t> bits(const std::vector<float>& values)
{
    std::vector<std::uint32_t> result;
    for (const float value : values) {
        result.push_back(std::bit_cast<std::uint32_t>(value));
    }
    return result;
}

} // namespace retro::luttrain
