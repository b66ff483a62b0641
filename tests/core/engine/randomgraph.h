// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/rewrite/graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace retro::tests
{

using rewrite::testing::randomTensor;
using rewrite::testing::SharedGraph;
using rewrite::testing::ValueId;
using rewrite::testing::Writer;
using tensor::Tensor;

/// Graphs that give every optional rewrite something to do now and then.
class RandomGraph
{
public:
    explicit RandomGraph(unsigned seed) : m_random(seed)
    {
        m_values = {m_writer.input("x", {2, 3, 4}), m_writer.input("u", {2, 3, 4})};
    }

    SharedGraph make()
    {
        const std::size_t count = 4 + pick(8);
        for (std::size_t i = 0; i < count; ++i) {
            m_node = fmt::format("n{}", i);
            add();
        }
        ValueId sum = m_values.back();
        for (std::size_t i = 0; i + 1 < m_values.size(); ++i) {
            sum = m_writer.node("Add", fmt::format("sum{}", i), {sum, m_values[i]});
        }
        m_writer.output(m_writer.node("Tanh", "score", {sum}));
        return m_writer.finish();
    }

private:
    std::size_t pick(std::size_t count) { return m_random() % count; }
    ValueId any() { return m_values[m_values.size() - 1 - pick(std::min<std::size_t>(m_values.size(), 4))]; }

    void add()
    {
        switch (pick(7)) {
        case 0:
            addChain();
            break;
        case 1:
            addTwice();
            break;
        case 2:
            addUpdates();
            break;
        case 3:
            addBranch();
            break;
        case 4:
            addConstants();
            break;
        case 5:
            m_writer.node("Exp", m_node + "_unread", {any()}); // nobody asks for it
            break;
        default:
            addFunction();
        }
    }

    void addChain()
    {
        const char* const functions[] = {"Tanh", "Sigmoid", "Softplus", "Elu", "Erf", "Selu"};
        ValueId x = any();
        for (std::size_t i = 0, count = 1 + pick(3); i < count; ++i) {
            x = m_writer.node(functions[pick(6)], fmt::format("{}_{}", m_node, i), {x});
        }
        m_values.push_back(x);
    }

    void addTwice()
    {
        const char* op = pick(2) == 0 ? "Mul" : "Add";
        const ValueId a = any();
        const ValueId b = any();
        const ValueId first = m_writer.node(op, m_node + "_first", {a, b});
        const ValueId second = m_writer.node(op, m_node + "_second", {b, a});
        m_values.push_back(m_writer.node("Sigmoid", m_node, {m_writer.node("Mul", m_node + "_both", {first, second})}));
    }

    void addUpdates()
    {
        const std::vector<std::int64_t> places{0, 1, 1, 2};
        const auto index = [&](const char* name) {
            return m_writer.constant(m_node + name, Tensor::of<std::int64_t>({2, 2}, places));
        };
        const ValueId rows = m_writer.node("ReduceMean", m_node + "_rows", {any()},
                                           {{"axes", std::vector<std::int64_t>{0, 1}}, {"keepdims", std::int64_t{0}}});
        const ValueId wide =
            m_writer.node("Expand", m_node + "_wide",
                          {rows, m_writer.constant(m_node + "_shape",
                                                   Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{2, 4}))});
        const ValueId first = m_writer.node("ScatterND", m_node + "_first", {any(), index("_i"), wide});
        m_values.push_back(
            m_writer.node("ScatterND", m_node,
                          {first, index("_j"),
                           m_writer.constant(m_node + "_new", randomTensor({2, 4}, static_cast<unsigned>(pick(99))))}));
    }

    void addBranch()
    {
        graph::Attributes branches;
        for (const char* name : {"then_branch", "else_branch"}) {
            Writer inner;
            const ValueId x = inner.input("x", {2, 3, 4});
            const ValueId once = inner.node(name[0] == 't' ? "Tanh" : "Sigmoid", "act", {x});
            inner.output(inner.node("Mul", "times", {once, x}));
            branches[name] = graph::Subgraph{inner.finish(), 1};
        }
        const bool isThen = pick(2) == 0;
        const ValueId condition =
            m_writer.constant(m_node + "_is", Tensor::of<bool>({}, std::span<const bool>(&isThen, 1)));
        m_values.push_back(m_writer.node("If", m_node, {condition, any()}, std::move(branches)));
    }

    void addConstants()
    {
        const ValueId level = m_writer.constant(m_node + "_a", randomTensor({1, 4}, 3, -0.5, 0.5));
        const ValueId factor =
            m_writer.node("Mul", m_node + "_b", {m_writer.node("Exp", m_node + "_e", {level}), level});
        const ValueId shifted = m_writer.node("Add", m_node + "_shifted", {any(), factor});
        const ValueId weight = m_writer.constant(m_node + "_w", randomTensor({4, 4}, 4, -0.5, 0.5));
        m_values.push_back(m_writer.node("MatMul", m_node, {shifted, weight})); // backwards by the turned weight
    }

    void addFunction()
    {
        const ValueId weight = m_writer.constant(m_node + "_w", randomTensor({1, 3, 4}, 7, -0.5, 0.5));
        const ValueId recurrent = m_writer.constant(m_node + "_r", randomTensor({1, 3, 3}, 8, -0.5, 0.5));
        const ValueId rnn =
            m_writer.node("RNN", m_node, {any(), weight, recurrent}, {{"hidden_size", std::int64_t{3}}});
        const ValueId mean = m_writer.node("ReduceMean", m_node + "_mean", {rnn},
                                           {{"axes", std::vector<std::int64_t>{1, 3}}, {"keepdims", std::int64_t{1}}});
        const ValueId flat =
            m_writer.node("Reshape", m_node + "_flat",
                          {mean, m_writer.constant(m_node + "_to",
                                                   Tensor::of<std::int64_t>({3}, std::vector<std::int64_t>{2, 3, 1}))});
        m_values.push_back(m_writer.node("Mul", m_node + "_scaled", {any(), flat}));
    }

    std::mt19937 m_random;
    Writer m_writer;
    std::vector<ValueId> m_values;
    std::string m_node;
};

} // namespace retro::tests
