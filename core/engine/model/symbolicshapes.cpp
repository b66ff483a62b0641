// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/symbolicshapes.h"

#include "core/execute/boundmodel.h"
#include "core/graph/placeholder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace retro::engine
{

using base::Result;
using execute::BoundModel;
using tensor::Shape;

namespace
{

using Model = std::shared_ptr<const BoundModel>;

/// "2·N/3", "N", "4".
std::string termText(const std::string& symbol, std::int64_t rise, std::int64_t step)
{
    const std::int64_t common = std::gcd(rise, step);
    const std::int64_t factor = rise / common;
    const std::int64_t divisor = step / common;
    std::string text = factor == 1 ? symbol : factor == -1 ? "-" + symbol : fmt::format("{}·{}", factor, symbol);
    return divisor == 1 ? text : fmt::format("{}/{}", text, divisor);
}

class Inference
{
public:
    Inference(const std::shared_ptr<const graph::Graph>& graph, const TriedSizes& sizes)
        : m_graph(graph), m_sizes(sizes)
    {}

    Result<std::vector<SymbolicShape>> run()
    {
        RETRO_CHECK(collectSymbols());
        std::vector<std::int64_t> sizes(m_symbols.size(), m_sizes.base);
        RETRO_TRY(m_base, bindAt(sizes));
        for (std::size_t s = 0; s < m_symbols.size(); ++s) {
            sizes[s] = m_sizes.base + m_sizes.step;
            RETRO_TRY(Model once, bindAt(sizes));
            sizes[s] = m_sizes.base + 2 * m_sizes.step;
            RETRO_TRY(Model twice, bindAt(sizes));
            sizes[s] = m_sizes.base;
            m_once.push_back(std::move(once));
            m_twice.push_back(std::move(twice));
        }
        for (std::size_t s = 0; s < m_symbols.size(); ++s) {
            m_checkSizes.push_back(m_sizes.base + m_sizes.step * static_cast<std::int64_t>(3 + s)); // all different
        }
        RETRO_TRY(m_check, bindAt(m_checkSizes));
        std::vector<SymbolicShape> shapes;
        for (std::size_t i = 0; i < m_graph->valueCount(); ++i) {
            shapes.push_back(shapeOf(base::ValueId(i)));
        }
        return shapes;
    }

private:
    static std::string symbolOf(const graph::Value& input, std::size_t axis)
    {
        const std::string& symbol = (*input.shape)[axis].symbol;
        return graph::isPlaceholder(symbol) ? fmt::format("{}[{}]", input.name, axis) : symbol;
    }

    Result<void> collectSymbols()
    {
        for (const base::ValueId id : m_graph->inputs()) {
            const graph::Value& input = m_graph->value(id);
            if (!input.shape) {
                return base::inputError("the model does not say this input's shape, so no shape follows from it",
                                        "input '" + input.name + "'");
            }
            for (std::size_t axis = 0; axis < input.shape->size(); ++axis) {
                const bool isFree = !(*input.shape)[axis].extent;
                const std::string symbol = symbolOf(input, axis);
                if (isFree && std::find(m_symbols.begin(), m_symbols.end(), symbol) == m_symbols.end()) {
                    m_symbols.push_back(symbol);
                }
            }
        }
        return {};
    }

    Result<Model> bindAt(const std::vector<std::int64_t>& sizes) const
    {
        std::vector<ops::TensorType> types;
        for (const base::ValueId id : m_graph->inputs()) {
            const graph::Value& input = m_graph->value(id);
            Shape shape;
            for (std::size_t axis = 0; axis < input.shape->size(); ++axis) {
                const auto at = std::find(m_symbols.begin(), m_symbols.end(), symbolOf(input, axis));
                const std::optional<std::int64_t>& extent = (*input.shape)[axis].extent;
                shape.push_back(extent ? *extent : sizes[static_cast<std::size_t>(at - m_symbols.begin())]);
            }
            types.push_back({input.dtype, std::move(shape)});
        }
        return BoundModel::bind(m_graph, types, execute::Precision::Float);
    }

    /// Extent of an axis in a bound model; −1 when the rank is another.
    static std::int64_t extentIn(const Model& model, base::ValueId id, std::size_t axis, std::size_t rank)
    {
        const Shape& shape = model->typeOf(id).shape;
        return shape.size() == rank ? shape[axis] : -1;
    }

    /// How much an extent grows per step of one symbol; none when it does not grow evenly.
    [[nodiscard]] std::optional<std::int64_t> riseOf(std::size_t symbol, base::ValueId id, std::size_t axis,
                                                     std::size_t rank) const
    {
        const std::int64_t once = extentIn(m_once[symbol], id, axis, rank);
        const std::int64_t rise = once - extentIn(m_base, id, axis, rank);
        const bool isEven = extentIn(m_twice[symbol], id, axis, rank) - once == rise;
        return isEven ? std::optional(rise) : std::nullopt;
    }

    [[nodiscard]] std::string extentText(base::ValueId id, std::size_t axis, std::size_t rank) const
    {
        const std::int64_t base = extentIn(m_base, id, axis, rank);
        std::int64_t offset = base;
        std::int64_t predicted = base;
        std::vector<std::string> terms;
        for (std::size_t s = 0; s < m_symbols.size(); ++s) {
            const std::optional<std::int64_t> rise = riseOf(s, id, axis, rank);
            if (!rise) {
                return "?";
            }
            predicted += *rise * (m_checkSizes[s] - m_sizes.base) / m_sizes.step;
            offset -= *rise * m_sizes.base / m_sizes.step;
            if (*rise != 0) {
                terms.push_back(termText(m_symbols[s], *rise, m_sizes.step));
            }
        }
        return predicted == extentIn(m_check, id, axis, rank) ? sumText(terms, offset) : "?";
    }

    /// "N/2 + H - 1".
    static std::string sumText(const std::vector<std::string>& terms, std::int64_t offset)
    {
        if (terms.empty()) {
            return std::to_string(offset);
        }
        const std::string text = fmt::format("{}", fmt::join(terms, " + "));
        return offset == 0 ? text : fmt::format("{} {} {}", text, offset > 0 ? "+" : "-", std::abs(offset));
    }

    [[nodiscard]] SymbolicShape shapeOf(base::ValueId id) const
    {
        const graph::Value& value = m_graph->value(id);
        const ops::TensorType& type = m_base->typeOf(id);
        const bool isFloat = tensor::isFloating(type.dtype);
        SymbolicShape shape{isFloat && value.kind != graph::ValueKind::Result ? value.dtype : type.dtype, {}};
        for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
            shape.extents.push_back(extentText(id, axis, type.shape.size()));
        }
        return shape;
    }

    const std::shared_ptr<const graph::Graph>& m_graph;
    TriedSizes m_sizes;
    std::vector<std::string> m_symbols;
    std::vector<std::int64_t> m_checkSizes;
    Model m_base;
    Model m_check;
    std::vector<Model> m_once;
    std::vector<Model> m_twice;
};

} // namespace

Result<std::vector<SymbolicShape>> inferSymbolicShapes(const std::shared_ptr<const graph::Graph>& graph,
                                                       const TriedSizes& sizes)
{
    return Inference(graph, sizes).run();
}

} // namespace retro::engine
