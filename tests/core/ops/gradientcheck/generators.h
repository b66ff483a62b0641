// SPDX-License-Identifier: Apache-2.0
// Gradients of every differentiable operator against central differences, over drawn attributes and shapes.
//
// To add an operator: write a function `OpCase name(Draw& draw)` that draws attributes and operands (see the files
// beside this one), and add a line {"Name", name} to the list of its file. Operands that are given with operand() and
// are floating are differentiated; constant() ones are not. Shapes, axes and other integers that an operator wants to
// know when it is bound are given with constant(). Draw values where the function is smooth: draws on a kink are
// noticed and left out, but at least half of an operator's draws must count. A new file declares its list here, and
// names it in gradientchecktest.cpp. An operator that is declared differentiable and has no line fails the test.
#pragma once

#include "tests/core/ops/opcase.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace retro::tests
{

/// Random numbers, shapes and tensors (float64) from a seed.
class Draw
{
public:
    explicit Draw(std::uint32_t seed) : m_generator(seed) {}

    /// A whole number between both bounds, inclusive.
    std::int64_t whole(std::int64_t low, std::int64_t high)
    {
        return std::uniform_int_distribution<std::int64_t>(low, high)(m_generator);
    }
    bool coin() { return whole(0, 1) == 1; }
    double number(double low, double high) { return std::uniform_real_distribution<double>(low, high)(m_generator); }
    /// One of several.
    template <class T>
    T among(std::vector<T> choices)
    {
        return choices[static_cast<std::size_t>(whole(0, static_cast<std::int64_t>(choices.size()) - 1))];
    }
    Shape shape(std::int64_t leastRank, std::int64_t mostRank, std::int64_t mostExtent = 4)
    {
        Shape result(static_cast<std::size_t>(whole(leastRank, mostRank)));
        for (std::int64_t& extent : result) {
            extent = whole(1, mostExtent);
        }
        return result;
    }
    /// A shape that broadcasts to this one: leading axes left out, others 1.
    Shape broadcasting(const Shape& whole)
    {
        const auto first = coin() ? 0 : this->whole(0, static_cast<std::int64_t>(whole.size()));
        Shape result(whole.begin() + first, whole.end());
        for (std::int64_t& extent : result) {
            extent = coin() && coin() ? 1 : extent;
        }
        return result;
    }
    /// An axis, sometimes counted from the end.
    std::int64_t axis(std::size_t rank)
    {
        const auto r = static_cast<std::int64_t>(rank);
        return whole(-r, r - 1);
    }
    /// Some axes, none twice.
    std::vector<std::int64_t> axes(std::size_t rank)
    {
        std::vector<std::int64_t> result;
        for (std::size_t i = 0; i < rank; ++i) {
            if (coin()) {
                result.push_back(coin() ? static_cast<std::int64_t>(i)
                                        : static_cast<std::int64_t>(i) - static_cast<std::int64_t>(rank));
            }
        }
        return result;
    }
    /// Numbers between the bounds.
    Tensor tensor(Shape shape, double low = -2, double high = 2)
    {
        std::vector<double> values(static_cast<std::size_t>(tensor::elementCount(shape)));
        for (double& value : values) {
            value = number(low, high);
        }
        return doubles(std::move(shape), values);
    }
    /// Numbers of which no two are close to each other, in random order.
    Tensor distinct(Shape shape)
    {
        std::vector<double> values(static_cast<std::size_t>(tensor::elementCount(shape)));
        std::iota(values.begin(), values.end(), 0.5 - static_cast<double>(values.size()) / 2);
        std::shuffle(values.begin(), values.end(), m_generator);
        for (double& value : values) {
            value = value * 0.3 + number(-0.05, 0.05);
        }
        return doubles(std::move(shape), values);
    }
    /// Integers between the bounds.
    Tensor integers(Shape shape, std::int64_t low, std::int64_t high)
    {
        std::vector<std::int64_t> values(static_cast<std::size_t>(tensor::elementCount(shape)));
        for (std::int64_t& value : values) {
            value = whole(low, high);
        }
        return Tensor::of<std::int64_t>(std::move(shape), values);
    }
    /// true and false.
    Tensor flags(Shape shape) { return integers(std::move(shape), 0, 1).to(DType::Bool); }
    template <class T>
    std::vector<T> shuffled(std::vector<T> values)
    {
        std::shuffle(values.begin(), values.end(), m_generator);
        return values;
    }

private:
    std::mt19937 m_generator;
};

/// How to draw a node of an operator.
struct Generator
{
    std::string op;
    OpCase (*make)(Draw& draw);
    std::string domain = {};
};

std::vector<Generator> elementWiseGenerators();
std::vector<Generator> arithmeticGenerators();
std::vector<Generator> reductionGenerators();
std::vector<Generator> shapeGenerators();
std::vector<Generator> indexGenerators();
std::vector<Generator> linearGenerators();
std::vector<Generator> windowGenerators();
std::vector<Generator> normalisationGenerators();
std::vector<Generator> resampleGenerators();
std::vector<Generator> composedGenerators();

} // namespace retro::tests
