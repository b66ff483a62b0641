// SPDX-License-Identifier: Apache-2.0
#include "tests/core/tape/randomtape.h"

#include <algorithm>

namespace retro::tapetest
{

using tape::Id;

namespace
{

constexpr std::size_t kMostSteps = 40;
constexpr int kHighestDegree = 8;

class Reader
{
public:
    explicit Reader(const std::vector<std::uint32_t>& choices) : m_choices(choices) {}

    RandomTape read()
    {
        static const std::vector<tensor::Shape> kShapes{{},  {2},    {2, 2},    {3},       {2, 3},
                                                        {1}, {0, 2}, {2, 1, 2}, {1, 3, 1}, {2, 0, 3}};
        const std::uint32_t leaves = 1 + draw(6);
        for (std::uint32_t i = 0; i < leaves; ++i) {
            m_made.leaves.push_back(kShapes[draw(static_cast<std::uint32_t>(kShapes.size()))]);
            m_degrees.push_back(1);
        }
        while (hasMore() && m_made.steps.size() < kMostSteps) {
            step();
        }
        return m_made;
    }

private:
    bool hasMore() const { return m_at < m_choices.size(); }
    std::uint32_t draw(std::uint32_t below) { return hasMore() ? m_choices[m_at++] % below : 0; }

    /// Three in ten operands are one of the last two values.
    Id operand()
    {
        const auto size = static_cast<std::uint32_t>(m_made.size());
        if (draw(10) < 3) {
            return size - 1 - draw(std::min(size, 2U));
        }
        return draw(size);
    }

    /// A value with the shape of `first`: itself in one of ten cases, else from anywhere.
    Id partner(Id first)
    {
        const auto size = static_cast<std::uint32_t>(m_made.size());
        const std::uint32_t start = draw(size);
        const bool repeats = draw(10) == 0;
        for (std::uint32_t i = 0; i < size && !repeats; ++i) {
            const Id id = (start + i) % size;
            if (m_made.shapeOf(id) == m_made.shapeOf(first)) {
                return id;
            }
        }
        return first;
    }

    void add(RandomTape::Step step, int degree)
    {
        m_made.steps.push_back(std::move(step));
        m_degrees.push_back(degree);
    }

    void step()
    {
        const Id a = operand();
        switch (draw(9)) {
        case 0:
        case 1:
            return addSum(a);
        case 2:
        case 3:
            return addProduct(a);
        case 4:
            return add({"scale", {a}, static_cast<std::int64_t>(draw(5)) - 2, m_made.shapeOf(a), {}}, m_degrees[a]);
        case 5:
            return add({"sum", {a}, 1, {}, {}}, m_degrees[a]);
        case 6:
            return addMatrix(a);
        case 7:
            return addPayload(a);
        default:
            return addMove(a);
        }
    }

    void addSum(Id a)
    {
        const Id b = partner(a);
        add({"add", {a, b}, 1, m_made.shapeOf(a), {}}, std::max(m_degrees[a], m_degrees[b]));
    }

    void addProduct(Id a)
    {
        const Id b = partner(a);
        if (m_degrees[a] + m_degrees[b] <= kHighestDegree) {
            add({"mul", {a, b}, 1, m_made.shapeOf(a), {}}, m_degrees[a] + m_degrees[b]);
        }
    }

    void addPayload(Id a)
    {
        const std::string& key = kPayloadKeys[draw(static_cast<std::uint32_t>(kPayloadKeys.size()))];
        add({"payload_scale", {a}, 1, m_made.shapeOf(a), {}, key}, m_degrees[a]);
    }

    void addMatrix(Id a)
    {
        const tensor::Shape& shape = m_made.shapeOf(a);
        if (shape.size() != 2) {
            return add({"broadcast", {a}, 1, broadcastShape(shape), {}}, m_degrees[a]);
        }
        const Id b = partner(a);
        if (shape[0] == shape[1] && m_degrees[a] + m_degrees[b] <= kHighestDegree) {
            return add({"matmul", {a, b}, 1, shape, {}}, m_degrees[a] + m_degrees[b]);
        }
        add({"transpose", {a}, 1, {shape[1], shape[0]}, {}}, m_degrees[a]);
    }

    static tensor::Shape broadcastShape(const tensor::Shape& shape)
    {
        if (shape.size() > 1) {
            tensor::Shape wider = shape;
            std::ranges::replace(wider, 1, 2);
            return wider;
        }
        return shape.empty() ? tensor::Shape{2, 2} : tensor::Shape{2, shape[0] == 1 ? 2 : shape[0]};
    }

    void addMove(Id a)
    {
        tensor::Shape shape = m_made.shapeOf(a);
        if (shape.empty() || shape[0] == 0) {
            return addSum(a);
        }
        if (draw(2) == 0 && shape[0] < 6) {
            const Id b = partner(a);
            shape[0] *= 2;
            return add({"concat0", {a, b}, 1, shape, {}}, std::max(m_degrees[a], m_degrees[b]));
        }
        std::vector<std::int64_t> index;
        for (int i = 0; i < 3; ++i) {
            index.push_back(static_cast<std::int64_t>(draw(static_cast<std::uint32_t>(shape[0]))));
        }
        shape[0] = 3;
        add({"gather0", {a}, 1, shape, index}, m_degrees[a]);
    }

    const std::vector<std::uint32_t>& m_choices;
    std::size_t m_at = 0;
    RandomTape m_made;
    std::vector<int> m_degrees;
};

} // namespace

RandomTape randomTape(const std::vector<std::uint32_t>& choices) { return Reader(choices).read(); }

} // namespace retro::tapetest
