// SPDX-License-Identifier: Apache-2.0
#include "app/gui/inputinfo.h"

#include <QFileInfo>

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

void addPictureFacts(views::InputInfo& info, const formats::ModelCard& card)
{
    for (const formats::CardPicture& picture : card.pictures) {
        if (QString::fromStdString(picture.file) != info.fileName) {
            continue;
        }
        info.trueClass = QString::fromStdString(picture.trueClass);
        if (picture.tagBox) {
            const auto& [x, y, width, height] = *picture.tagBox;
            info.tagBox = QRect(x, y, width, height);
            info.tagName = QObject::tr("tag");
        }
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
    if (job.inputs.size() == 1) {
        const QString source = QString::fromStdString(job.inputs.front());
        info.fileName = QFileInfo(source.section(QLatin1Char('='), -1)).fileName();
        info.isPicture = isPictureFile(job.inputs.front());
    }
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

} // namespace retro::app
