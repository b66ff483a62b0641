// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/luttrain/lutnetwork.h"
#include "core/formats/onnx.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/view.h"
#include "views/lut/lutchoice.h"

#include <QtTest>

// A run of a small sequence model of LUT layers, and what its views share.
namespace retro::tests
{

inline constexpr std::uint32_t kLength = 7;
inline constexpr std::uint32_t kWidth = 6;

/// x + LUT(x) over seven positions, then a LUT at each; two classes.
inline std::shared_ptr<const trace::Run> explained(bool keepsValues = true, const std::string& composite = "epsilon")
{
    engine::LutNetworkPlan plan;
    plan.inputs = kWidth;
    plan.length = kLength;
    plan.classes = 2;
    plan.layers = {{3, 2, 1, kWidth, true, true}, {4, 3, 0, 2, false, false}};
    auto network = engine::LutNetwork::create(plan);
    if (!network.ok()) {
        return nullptr;
    }
    std::vector<float>& last = network->layers().back().weights;
    for (std::size_t i = 0; i < last.size(); ++i) {
        last[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
    }
    auto graph = network->toGraph();
    auto model = engine::parseModel(formats::toOnnx(*graph).value(), "lut.onnx", {});
    std::vector<float> x;
    for (std::uint32_t i = 0; i < 2 * kLength * kWidth; ++i) {
        x.push_back(static_cast<float>(static_cast<int>(i * 29 % 17) - 8) / 16);
    }
    engine::ExplainRequest request;
    request.inputs = {tensor::Tensor::of<float>({2, kLength, kWidth}, x)};
    request.composite = composite;
    request.record = true;
    request.keepValues = keepsValues;
    auto result = engine::explain(**model, request);
    return result.ok() ? result->run : nullptr;
}

inline views::RunHandle handleOf(std::shared_ptr<const trace::Run> run)
{
    auto timeline = trace::Timeline::open(run);
    return {run, std::make_shared<trace::Timeline>(std::move(timeline).value()),
            std::make_shared<views::RunDerived>(run)};
}

/// Window parts without a window, with the choice that views of LUT layers share.
struct LutContext : ViewContext
{
    views::LutChoice choice{model, selection};

    explicit LutContext(std::shared_ptr<const trace::Run> run = explained()) { model.setRun(handleOf(std::move(run))); }
    void waitForDetail()
    {
        choice.wantDetail();
        QTRY_VERIFY_WITH_TIMEOUT(!choice.isLoading(), 30'000);
    }
};

inline void place(views::View& view, const QSize& size)
{
    view.resize(size);
    view.show();
    view.flush();
}

} // namespace retro::tests
