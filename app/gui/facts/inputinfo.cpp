// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/inputinfo.h"

#include "views/common/stringlist.h"

#include <QFileInfo>

#include <algorithm>
#include <array>

namespace retro::app
{

namespace
{

std::optional<QRect> rectOf(const std::optional<std::array<int, 4>>& box)
{
    return box ? std::optional(QRect((*box)[0], (*box)[1], (*box)[2], (*box)[3])) : std::nullopt;
}

/// File of the job's one input, without folder; empty for several.
QString fileOf(const ExplainJob& job)
{
    return job.question.inputs.size() == 1
               ? QFileInfo(QString::fromStdString(job.question.inputs.front()).section(QLatin1Char('='), -1)).fileName()
               : QString();
}

/// N×C×H×W with 1 or 3 channels.
bool looksLikePicture(const tensor::Shape& shape)
{
    return shape.size() == 4 && (shape[1] == 1 || shape[1] == 3) && shape[2] > 1 && shape[3] > 1;
}

void readFacts(views::InputInfo& info, const trace::InputFacts& facts)
{
    info.isPicture = facts.kind == "image";
    info.fileName = QString::fromStdString(facts.file);
    info.layout = QString::fromStdString(facts.layout);
    info.channels = QString::fromStdString(facts.channels);
    info.scaleLow = facts.scale[0];
    info.scaleHigh = facts.scale[1];
    info.mean = facts.mean;
    info.deviation = facts.deviation;
    info.words = views::stringList(facts.words);
    info.trueClass = QString::fromStdString(facts.trueClass);
    info.tagBox = rectOf(facts.tag);
    info.tagName = info.tagBox ? QObject::tr("tag") : QString();
}

} // namespace

views::InputInfo inputInfo(const trace::Run& run)
{
    views::InputInfo info;
    info.labels = views::stringList(run.facts.labels);
    info.scores = QString::fromStdString(run.facts.scores);
    const auto inputs = run.graph->inputs();
    if (run.facts.input) {
        readFacts(info, *run.facts.input);
    } else if (inputs.size() == 1 && inputs[0].index() < run.shapes.size()) {
        info.isPicture = looksLikePicture(run.shapes[inputs[0].index()]);
    }
    return info;
}

std::optional<QRect> objectBox(const ExplainJob& job)
{
    if (!job.model->card) {
        return std::nullopt;
    }
    const auto& pictures = job.model->card->pictures;
    const std::string file = fileOf(job).toStdString();
    const auto found = std::find_if(pictures.begin(), pictures.end(),
                                    [&](const formats::CardPicture& picture) { return picture.file == file; });
    return found == pictures.end() ? std::nullopt : rectOf(found->objectBox);
}

} // namespace retro::app
