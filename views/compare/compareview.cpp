// SPDX-License-Identifier: Apache-2.0
#include "views/compare/compareview.h"

#include "views/common/fonts.h"
#include "views/common/heatmapimage.h"
#include "views/common/numbertext.h"
#include "views/common/paintfile.h"
#include "views/common/runtexts.h"
#include "views/common/theme.h"
#include "views/compare/comparepane.h"

#include <QAction>
#include <QHBoxLayout>
#include <QScrollArea>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

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

QString waitingText()
{
    return CompareView::tr("The answer of the control model appears here once something was explained.");
}

QString meaningOf(const EvidenceShare& share, const QString& boxName)
{
    if (!share.hasEvidence()) {
        return CompareView::tr("Nothing speaks for the target: no pixel has positive relevance.");
    }
    if (boxName.isEmpty()) {
        return CompareView::tr("%1 of its positive relevance sits on the object, the rest around it.")
            .arg(percentText(share.onObject.value_or(0)));
    }
    const QString place = CompareView::tr("%1 of its positive relevance sits on the %2, which covers %3 of the pixels.")
                              .arg(percentText(share.inBox), boxName, percentText(share.boxArea));
    return share.inBox >= kReadsIt ? CompareView::tr("The model reads the %1, not the object: %2").arg(boxName, place)
                                   : CompareView::tr("Most evidence lies off the %1: %2").arg(boxName, place);
}

/// Where the positive relevance of both lies, when there is a box to ask about.
void addShares(CompareFigure& figure, const Plane& here, const Plane& control, const InputInfo& input,
               const std::optional<QRect>& object)
{
    if (here.isEmpty() || !(input.tagBox || object)) {
        return;
    }
    const QRect box = input.tagBox.value_or(QRect());
    figure.box = input.tagBox;
    figure.boxName = input.tagBox ? input.tagName : QString();
    figure.here = evidenceShare(here, box, object);
    figure.control = evidenceShare(control, box, object);
    figure.meaning = meaningOf(*figure.here, figure.boxName);
}

} // namespace

CompareView::CompareView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    m_pane = new ComparePane(this);
    QWidget* scroll = makeScroll(m_pane);
    scroll->setMinimumWidth(m_pane->minimumSizeHint().width() + style()->pixelMetric(QStyle::PM_ScrollBarExtent));
    auto* body = new QWidget(this);
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(scroll, 1);
    m_buttons = new QHBoxLayout;
    m_buttons->setContentsMargins(fonts::px(12), fonts::px(6), fonts::px(12), fonts::px(10));
    m_buttons->setSpacing(fonts::px(8));
    column->addLayout(m_buttons);
    setBody(body);
    setEmptyText(waitingText());
}

void CompareView::addButtons(const QList<QAction*>& actions)
{
    for (QAction* action : actions) {
        auto* button = new QToolButton(this);
        button->setDefaultAction(action);
        button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        m_buttons->addWidget(button);
    }
    m_buttons->addStretch(1);
}

void CompareView::setControl(std::optional<ControlFacts> control)
{
    m_control = std::move(control);
    m_absent.clear();
    schedule(Change::Run);
}

void CompareView::setAbsent(const QString& reason)
{
    m_absent = reason;
    if (!reason.isEmpty()) {
        m_control.reset();
    }
    schedule(Change::Run);
}

void CompareView::setAwaited(bool isAwaited)
{
    m_isAwaited = isAwaited;
    schedule(Change::Run);
}

QString CompareView::subject() const { return m_control ? tr("with the control") : QString(); }

QString CompareView::hint() const
{
    if (!m_control) {
        return {};
    }
    return model().input().isPicture ? tr("Same picture, another training.") : tr("Same input, another training.");
}

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
        path, size, [&](QPainter& painter) { m_pane->paint(painter, size, theme(this)); }, tr("Compare"),
        runTexts(model().run(), model().position()), 2);
}

void CompareView::refresh(Changes changes)
{
    if (!(changes & (Change::Run | Change::Theme)) || !m_control) {
        return;
    }
    const InputInfo& input = model().input();
    const auto plane = channelSum(m_control->relevance, 0, input.layout == QLatin1String("NHWC"));
    const PictureOfRun here = pictureOf(model());
    const bool isSameSize = plane && (here.relevance.isEmpty() ||
                                      (plane->width == here.relevance.width && plane->height == here.relevance.height));
    m_problem =
        isSameSize ? QString() : tr("The control model reads another kind of input, so its answer cannot be compared.");
    if (!isSameSize) {
        return;
    }
    CompareFigure figure;
    figure.picture = heatmapOver(*plane, symmetricScale(plane->values, kPercentile), ColorMap(), here.picture);
    figure.verdict = tr("Control says %1").arg(m_control->predicted);
    figure.verdictFigure = m_control->probability ? percentText(*m_control->probability) : QString();
    addShares(figure, here.relevance, *plane, input, m_control->objectBox);
    m_pane->setFigure(std::move(figure));
}

QString CompareView::emptyReason() const
{
    if (m_control) {
        return m_problem;
    }
    if (!m_absent.isEmpty()) {
        return m_absent;
    }
    if (m_isAwaited) {
        return tr("The control model is being asked…");
    }
    return model().run().eventCount() == 0 ? waitingText()
                                           : tr("This model's card names no control model to compare with.");
}

} // namespace retro::views
