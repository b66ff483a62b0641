// SPDX-License-Identifier: Apache-2.0
#include "views/compare/compareview.h"

#include "views/common/heatmapimage.h"
#include "views/common/numbertext.h"
#include "views/common/paintfile.h"
#include "views/common/theme.h"
#include "views/compare/comparepane.h"

namespace retro::views
{

namespace
{

constexpr double kPercentile = 99.9;
/// From this share on, evidence on the box counts as "the model reads it".
constexpr double kReadsIt = 0.5;

/// The input that was a picture, and its relevance at the end of the run.
struct PictureOfRun
{
    QImage picture;
    Plane relevance;
};

PictureOfRun pictureOf(const RunModel& model)
{
    PictureOfRun found;
    const InputInfo& input = model.input();
    if (!input.isPicture || model.graph().inputs().empty()) {
        return found;
    }
    const base::ValueId value = model.graph().inputs()[0];
    const bool isLast = input.layout == QLatin1String("NHWC");
    if (const tensor::Tensor* forward = model.forwardValue(value)) {
        found.picture = pictureOfTensor(*forward, input.scaleLow, input.scaleHigh, input.mean, input.deviation, isLast,
                                        input.channels == QLatin1String("BGR"));
    }
    const auto step = model.relevanceStep(model.graph().nodeOf(value));
    if (step && *step > 0) {
        const event::Event& event = model.run().events[*step - 1];
        if (const tensor::Tensor* relevance = model.tensor(base::HandleId(event.handle))) {
            const auto plane = channelSum(*relevance, 0, isLast);
            if (plane) {
                found.relevance = *plane;
            }
        }
    }
    return found;
}

} // namespace

CompareView::CompareView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    m_pane = new ComparePane(this);
    setBody(m_pane);
    setEmptyText(tr("The answer of the control model appears here once something was explained."));
}

void CompareView::setControl(std::optional<ControlFacts> control)
{
    m_control = std::move(control);
    schedule(Change::Run);
}

QString CompareView::subject() const { return m_control ? tr("with the control model") : QString(); }

QString CompareView::hint() const { return m_control ? tr("Same picture, another training.") : QString(); }

bool CompareView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

QStringList CompareView::exportFormats() const
{
    return {QStringLiteral("png"), QStringLiteral("svg"), QStringLiteral("pdf")};
}

base::Result<void> CompareView::exportTo(const std::filesystem::path& path)
{
    if (!m_control) {
        return base::usageError("there is no comparison to export", path.string());
    }
    const QSizeF size(m_pane->size());
    return paintToFile(
        path, size, [&](QPainter& painter) { m_pane->paint(painter, size, theme(this)); }, tr("Compare"), {}, 2);
}

void CompareView::refresh(Changes changes)
{
    if (!(changes & (Change::Run | Change::Theme)) || !m_control) {
        return;
    }
    const bool isLast = model().input().layout == QLatin1String("NHWC");
    const auto plane = channelSum(m_control->relevance, 0, isLast);
    if (!plane) {
        return;
    }
    const PictureOfRun here = pictureOf(model());
    CompareFigure figure;
    figure.picture = heatmapOver(*plane, symmetricScale(plane->values, kPercentile), ColorMap(), here.picture);
    figure.verdict = tr("Control says %1").arg(m_control->predicted);
    figure.verdictFigure = percentText(m_control->probability);
    const InputInfo& input = model().input();
    if (input.tagBox && !here.relevance.isEmpty()) {
        figure.box = input.tagBox;
        figure.boxName = input.tagName;
        figure.here = evidenceShare(here.relevance, *input.tagBox);
        figure.control = evidenceShare(*plane, *input.tagBox);
        const QString place =
            tr("%1 of its positive relevance sits on the %2, which covers %3 of the pixels.")
                .arg(percentText(figure.here->inBox), input.tagName, percentText(figure.here->boxArea));
        figure.meaning = figure.here->inBox >= kReadsIt
                             ? tr("The model reads the %1, not the object: %2").arg(input.tagName, place)
                             : tr("Most evidence lies off the %1: %2").arg(input.tagName, place);
    }
    m_pane->setFigure(std::move(figure));
}

QString CompareView::emptyReason() const
{
    return m_control ? QString() : tr("This model's card names no control model to compare with.");
}

} // namespace retro::views
