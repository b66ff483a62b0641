// SPDX-License-Identifier: Apache-2.0
#include "app/gui/inputinfo.h"

#include <QFileInfo>

#include <algorithm>
#include <array>

namespace retro::app
{

namespace
{

QStringList labelList(const std::vector<std::string>& labels)
{
    QStringList list;
    for (const std::string& label : labels) {
        list.append(QString::fromStdString(label));
    }
    return list;
}

std::optional<QRect> rectOf(const std::optional<std::array<int, 4>>& box)
{
    return box ? std::optional(QRect((*box)[0], (*box)[1], (*box)[2], (*box)[3])) : std::nullopt;
}

/// File of the job's one input, without folder; empty for several.
QString fileOf(const ExplainJob& job)
{
    return job.inputs.size() == 1
               ? QFileInfo(QString::fromStdString(job.inputs.front()).section(QLatin1Char('='), -1)).fileName()
               : QString();
}

void addPictureFacts(views::InputInfo& info, const formats::ModelCard& card)
{
    for (const formats::CardPicture& picture : card.pictures) {
        if (QString::fromStdString(picture.file) != info.fileName) {
            continue;
        }
        info.trueClass = QString::fromStdString(picture.trueClass);
        info.tagBox = rectOf(picture.tagBox);
        info.tagName = info.tagBox ? QObject::tr("tag") : QString();
    }
}

/// N×C×H×W with 1 or 3 channels.
bool looksLikePicture(const tensor::Shape& shape)
{
    return shape.size() == 4 && (shape[1] == 1 || shape[1] == 3) && shape[2] > 1 && shape[3] > 1;
}

} // namespace

views::InputInfo inputInfo(const ExplainJob& job)
{
    views::InputInfo info;
    info.fileName = fileOf(job);
    info.isPicture = job.inputs.size() == 1 && isPictureFile(job.inputs.front());
    const engine::PictureOptions options = job.options();
    info.layout = QString::fromStdString(options.layout);
    info.channels = QString::fromStdString(options.channels);
    info.scaleLow = options.low;
    info.scaleHigh = options.high;
    info.mean = options.mean;
    info.deviation = options.deviation;
    if (job.model->card) {
        const formats::ModelCard& card = *job.model->card;
        info.isPicture = info.isPicture || card.inputKind == "image";
        info.labels = labelList(card.labels);
        info.scores = QString::fromStdString(card.scores);
        addPictureFacts(info, card);
    }
    return info;
}

views::InputInfo inputInfo(const trace::Run& run)
{
    views::InputInfo info;
    info.labels = labelList(run.facts.labels);
    const auto inputs = run.graph->inputs();
    if (inputs.size() == 1 && inputs[0].index() < run.shapes.size()) {
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
