// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/gradient/modelrules.h"
#include "core/engine/verify/property.h"
#include "core/graph/graphbuilder.h"
#include "core/tape/model/modeltape.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Models of a few nodes whose tapes a test takes apart.
namespace retro::enginetest
{

/// A bound model of one double input "x" of three elements and what `build` makes of it; the last value is the output.
inline std::shared_ptr<const execute::BoundModel>
modelOf(const std::function<base::ValueId(graph::GraphBuilder&, base::ValueId)>& build)
{
    graph::GraphBuilder builder("small", 17);
    const base::ValueId x = builder.addInput("x", tensor::DType::Float64, tensor::Shape{3});
    builder.addOutput(build(builder, x));
    auto graph = std::make_shared<const graph::Graph>(std::move(builder).build().value());
    const std::vector<ops::TensorType> types{{tensor::DType::Float64, {3}}};
    return execute::BoundModel::bind(graph, types, execute::Precision::Double).value();
}

inline base::ValueId addNode(graph::GraphBuilder& builder, const std::string& op, const std::string& name,
                             std::vector<base::ValueId> operands, const std::string& value)
{
    return builder.addOp(op, name, std::move(operands), value);
}

/// y = tanh(x · x) + x over three numbers, in double: ids x 0, square 1, bent 2, y 3.
inline std::shared_ptr<const execute::BoundModel> smallModel()
{
    return modelOf([](graph::GraphBuilder& builder, base::ValueId x) {
        const base::ValueId square = addNode(builder, "Mul", "times", {x, x}, "square");
        const base::ValueId bent = addNode(builder, "Tanh", "bend", {square}, "bent");
        return addNode(builder, "Add", "plus", {bent, x}, "y");
    });
}

/// z = tanh(tanh(x) + sin(x)): ids x 0, left 1, right 2, y 3, z 4; left and right may change places.
inline std::shared_ptr<const execute::BoundModel> forkedModel()
{
    return modelOf([](graph::GraphBuilder& builder, base::ValueId x) {
        const base::ValueId left = addNode(builder, "Tanh", "port", {x}, "left");
        const base::ValueId right = addNode(builder, "Sin", "starboard", {x}, "right");
        const base::ValueId y = addNode(builder, "Add", "plus", {left, right}, "y");
        return addNode(builder, "Tanh", "bend", {y}, "z");
    });
}

inline tape::ModelTape tapeOf(const std::shared_ptr<const execute::BoundModel>& model, tape::ModelRule rule)
{
    const std::vector<double> numbers{0.5, -0.25, 1.0};
    const tensor::Tensor input = tensor::Tensor::of<double>({3}, numbers);
    return tape::compileModel(model, {&input, 1}, std::move(rule)).value();
}

inline tape::ModelTape tapeOf(const std::shared_ptr<const execute::BoundModel>& model)
{
    return tapeOf(model, engine::gradientRule(model));
}

inline tape::Id idOf(const tape::ModelTape& made, const std::string& value)
{
    return made.idOf[made.model->graph().findValue(value)->index()];
}

/// The gradient, but for one node, where `change` has its say.
inline tape::ModelRule spoilt(const std::shared_ptr<const execute::BoundModel>& model, const std::string& node,
                              std::function<tensor::Tensor(const tensor::Tensor&)> change)
{
    return [model, node, change = std::move(change), rule = engine::gradientRule(model)](
               const tape::ModelSite& site) -> base::Result<std::vector<tensor::Tensor>> {
        RETRO_TRY(std::vector<tensor::Tensor> parts, rule(site));
        for (tensor::Tensor& part : parts) {
            const bool isSpoilt = part.isValid() && model->graph().node(site.node).name == node;
            part = isSpoilt ? change(part) : part;
        }
        return parts;
    };
}

inline const engine::PropertyResult* find(const engine::PropertyResults& results, const std::string& id)
{
    const auto at = std::ranges::find(results, id, &engine::PropertyResult::id);
    return at == results.end() ? nullptr : &*at;
}

/// "P2 P13": the ids of the properties that are violated, in order.
inline std::string violatedOf(const engine::PropertyResults& results)
{
    std::string ids;
    for (const engine::PropertyResult& one : results) {
        if (one.state == engine::PropertyState::Violated) {
            ids += (ids.empty() ? "" : " ") + one.id;
        }
    }
    return ids;
}

} // namespace retro::enginetest
