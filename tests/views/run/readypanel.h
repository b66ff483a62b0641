// SPDX-License-Identifier: Apache-2.0
// A run panel as it is once a model is open.
#pragma once

#include "views/run/runpanel.h"

#include <memory>
#include <vector>

namespace retro::tests
{

inline views::ModelFacts makeFacts()
{
    views::ModelFacts facts;
    facts.name = QStringLiteral("clever-hans.onnx");
    facts.summary = QStringLiteral("41 nodes · 6 classes · 492.7 kB · ONNX 17");
    facts.labels = {QStringLiteral("mug"), QStringLiteral("jug"), QStringLiteral("lamp")};
    facts.inputs = {{QStringLiteral("jug-tagged.png"), QStringLiteral("samples/jug-tagged.png")},
                    {QStringLiteral("zeros"), QStringLiteral("zeros")}};
    facts.takesPictures = true;
    return facts;
}

/// A question as the panel asks it of that model.
inline engine::Question asked(const char* input, const char* target, const char* start, const char* composite)
{
    engine::Question question;
    question.inputs = {input};
    question.targets = {target};
    question.start = start;
    question.composite = composite;
    question.traversal = "ours";
    views::setPreparation(views::Preparation(), question);
    return question;
}

/// 24 × 24, positive in one corner only.
inline tensor::Tensor makeRelevance()
{
    std::vector<float> values(24 * 24, 0.0F);
    values[3] = 1.0F;
    return tensor::Tensor::of<float>({1, 1, 24, 24}, values);
}

inline std::vector<views::CompositeThumbnail> makeThumbnails()
{
    std::vector<views::CompositeThumbnail> thumbnails;
    for (const char* name : {"epsilon", "epsilon_plus", "epsilon_alpha2_beta1", "epsilon_gamma_box"}) {
        thumbnails.push_back({QLatin1String(name), makeRelevance()});
    }
    return thumbnails;
}

/// A panel with a model and four small heatmaps, the second of which is on screen.
inline std::unique_ptr<views::RunPanel> makeReadyPanel()
{
    auto panel = std::make_unique<views::RunPanel>();
    panel->setModel(makeFacts());
    panel->setQuestion(asked("samples/jug-tagged.png", "argmax", "logit", "epsilon_plus"));
    panel->setThumbnails(makeThumbnails(), QStringLiteral("epsilon_plus"));
    return panel;
}

} // namespace retro::tests
