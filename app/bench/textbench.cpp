// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"

#include "views/text/layersmatrix.h"
#include "views/text/linkspane.h"
#include "views/text/textfocus.h"
#include "views/text/tokencolumns.h"
#include "views/text/wordstrip.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QScrollBar>
#include <QVBoxLayout>
#include <QWidget>

#include <algorithm>
#include <random>

namespace retro::app
{

namespace
{

constexpr std::int64_t kTextTokens = 2000;
constexpr std::int64_t kTextLayers = 32;
constexpr std::int64_t kTextHeads = 32;
constexpr int kLinksOfALayer = 4096; // as the engine keeps
constexpr int kTextFrames = 240;
constexpr double kSixtieth = 1.0 / 60;

tensor::Tensor drawn(const tensor::Shape& shape, std::mt19937& random)
{
    std::normal_distribution<double> draw(0, 0.05);
    tensor::TensorBuffer made(tensor::DType::Float64, shape);
    std::ranges::generate(made.span<double>(), [&] { return draw(random); });
    return std::move(made).freeze();
}

std::shared_ptr<const trace::RunText> longText()
{
    std::mt19937 random(1);
    auto text = std::make_shared<trace::RunText>();
    for (std::int64_t i = 0; i < kTextTokens; ++i) {
        text->tokens.push_back({i, " word" + std::to_string(random() % 1000), std::nullopt});
    }
    text->given = static_cast<std::size_t>(kTextTokens);
    trace::TextStep step;
    step.position = kTextTokens - 1;
    step.target = {1, " word", 3};
    step.started = 3;
    step.layers = drawn({kTextLayers + 1, kTextTokens}, random);
    step.heads = drawn({kTextLayers, kTextTokens, kTextHeads}, random);
    for (std::int64_t i = 0; i < kTextTokens; ++i) {
        step.relevance.push_back(step.layers.at(i));
    }
    for (std::int32_t layer = 0; layer < kTextLayers; ++layer) {
        for (int i = 0; i < kLinksOfALayer; ++i) {
            const auto query = static_cast<std::int32_t>(random() % kTextTokens);
            step.links.push_back({layer, static_cast<std::int32_t>(random() % kTextHeads), query,
                                  std::max<std::int32_t>(0, query - static_cast<std::int32_t>(random() % 40)),
                                  (i % 2 == 0 ? 1.0 : -1.0) / (1 + i % 100)});
        }
    }
    text->steps.push_back(std::move(step));
    return text;
}

} // namespace

void benchTexts(std::vector<BenchmarkFigure>& figures)
{
    views::TextFocus focus;
    QWidget stage;
    auto* column = new QVBoxLayout(&stage);
    auto* strip = new views::WordStrip(focus, &stage);
    auto* links = new views::LinksPane(focus, &stage);
    auto* matrix = new views::LayersMatrix(focus, &stage);
    for (QWidget* part : {static_cast<QWidget*>(strip), static_cast<QWidget*>(links), static_cast<QWidget*>(matrix)}) {
        column->addWidget(part, 1);
    }
    focus.setText(longText());
    stage.resize(1300, 900);
    stage.show();
    QCoreApplication::processEvents();
    std::vector<double> across;
    std::vector<double> narrow;
    for (const double width : {0.0, 6.0}) { // with figures, and with as many columns as can be told apart
        focus.setColumnWidth(width);
        const double most = views::TokenColumns::of(focus, matrix->viewport()->width()).mostLeft();
        for (int i = 0; i < kTextFrames; ++i) {
            QElapsedTimer watch;
            watch.start();
            focus.setLeft(most * i / kTextFrames);
            strip->verticalScrollBar()->setValue(strip->verticalScrollBar()->maximum() * i / kTextFrames);
            matrix->verticalScrollBar()->setValue(matrix->verticalScrollBar()->maximum() * (i % 60) / 60);
            stage.repaint();
            QCoreApplication::processEvents();
            (width == 0.0 ? across : narrow).push_back(static_cast<double>(watch.nsecsElapsed()) * 1e-9);
        }
    }
    const auto add = [&](const std::string& name, std::vector<double>& frames) {
        figures.push_back(figureOf(name + "_median", frames, kSixtieth));
        std::ranges::sort(frames);
        const double slow = frames[frames.size() * 99 / 100];
        figures.push_back(
            {name + "_p99", frames.front(), slow, frames.back(), static_cast<int>(frames.size()), kSixtieth});
    };
    add("window/text_frame", across);
    add("window/text_narrow_frame", narrow);
}

} // namespace retro::app
