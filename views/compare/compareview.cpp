// SPDX-License-Identifier: Apache-2.0
#include "views/compare/compareview.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/heatmapimage.h"
#include "views/common/paint/paintfile.h"
#include "views/common/paint/theme.h"
#include "views/common/run/runtexts.h"
#include "views/common/widgets/boxes.h"
#include "views/compare/comparepane.h"

#include <QAction>
#include <QHBoxLayout>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace retro::views
{

namespace
{

constexpr double kPercentile = 99.9;
/// From this share on, evidence on the box counts as "the model reads it".
constexpr double kReadsIt = 0.5;

/// The picture that the run was made with; null when its input is none.
QImage pictureOf(const RunModel& model)
{
    const InputInfo& input = model.input();
    const bool hasPicture = input.isPicture && !model.graph().inputs().empty();
    const tensor::Tensor* forward = hasPicture ? model.forwardValue(model.graph().inputs()[0]) : nullptr;
    return forward == nullptr
               ? QImage()
               : pictureOfTensor(*forward, input.scaleLow, input.scaleHigh, input.mean, input.deviation,
                                 input.layout == QLatin1String("NHWC"), input.channels == QLatin1String("BGR"));
}

/// Relevance of the first input at the end of the run; invalid when it never arrived or was not kept.
tensor::Tensor relevanceOf(const RunModel& model)
{
    if (model.graph().inputs().empty()) {
        return {};
    }
    const base::ValueId value = model.graph().inputs()[0];
    const auto step = model.relevanceStep(model.graph().nodeOf(value));
    if (!step || *step == 0) {
        return {};
    }
    const tensor::Tensor* relevance = model.relevance(value, base::HandleId(model.run().events[*step - 1].handle));
    return relevance == nullptr ? tensor::Tensor() : *relevance;
}

bool isSeries(const InputInfo& input)
{
    return input.layout == QLatin1String("NTC") || input.layout == QLatin1String("NT");
}

/// A step by its word, else by its number; none when nothing speaks for the target.
QString strongestOf(const StepStrip& strip)
{
    const auto most = std::max_element(strip.values.begin(), strip.values.end());
    if (most == strip.values.end() || !(*most > 0)) {
        return {};
    }
    const QString word = strip.word(static_cast<std::size_t>(most - strip.values.begin()));
    return strip.words.isEmpty() ? CompareView::tr("step %1").arg(word) : CompareView::tr("“%1”").arg(word);
}

QString meaningOf(const StepStrip& here, const StepStrip& control)
{
    const QString one = strongestOf(here);
    const QString other = strongestOf(control);
    if (one.isEmpty() || other.isEmpty()) {
        return {};
    }
    return one == other ? CompareView::tr("Both models lean most on %1.").arg(one)
                        : CompareView::tr("This model leans most on %1, the control on %2.").arg(one, other);
}

QString waitingText()
{
    return CompareView::tr("The answer of the control model appears here once something was explained.");
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
    figure.meaning = compareMeaning(*figure.here, figure.boxName);
}

} // namespace

QString compareMeaning(const EvidenceShare& share, const QString& boxName)
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
    if (share.netInBox < 0 && share.boxArea > 0) {
        return CompareView::tr("The %1 speaks against the target: more relevance is negative there than positive. %2")
            .arg(boxName, place);
    }
    if (share.isAgainst()) {
        return CompareView::tr("More speaks against the target than for it. %1").arg(place);
    }
    return share.inBox >= kReadsIt ? CompareView::tr("The model reads the %1, not the object: %2").arg(boxName, place)
                                   : CompareView::tr("Most evidence lies off the %1: %2").arg(boxName, place);
}

CompareView::CompareView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    m_pane = new ComparePane(this);
    QWidget* scroll = makeScroll(m_pane);
    scroll->setMinimumWidth(m_pane->minimumSizeHint().width() + style()->pixelMetric(QStyle::PM_ScrollBarExtent));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
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

QString CompareView::hint() const
{
    if (!m_control) {
        return {};
    }
    if (!model().input().words.isEmpty()) {
        return tr("Same text, another training.");
    }
    return model().input().isPicture ? tr("Same picture, another training.") : tr("Same input, another training.");
}

bool CompareView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

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

/// Words or steps with their relevance, as the heatmap shows them; false when the input is neither.
bool CompareView::fillSteps(CompareFigure& figure, const tensor::Tensor& here) const
{
    std::vector<double> control = isSeries(model().input()) ? stepSums(m_control->relevance) : std::vector<double>();
    std::vector<double> own = here.isValid() ? stepSums(here) : std::vector<double>();
    if (control.empty() || (!own.empty() && own.size() != control.size())) {
        return false;
    }
    const bool hasWords = model().input().words.size() == static_cast<qsizetype>(control.size());
    const QStringList words = hasWords ? model().input().words : QStringList();
    const Scale scale = symmetricScale(control, kPercentile);
    figure.strip = {words, std::move(control), scale, ColorMap()};
    figure.meaning = meaningOf({words, std::move(own), {}, ColorMap()}, figure.strip);
    return true;
}

/// The control's heatmap over the picture, with shares; false when its input has another size.
bool CompareView::fillPicture(CompareFigure& figure, const tensor::Tensor& here) const
{
    const InputInfo& input = model().input();
    const bool isChannelsLast = input.layout == QLatin1String("NHWC");
    const auto plane = channelSum(m_control->relevance, 0, isChannelsLast);
    const auto own = here.isValid() ? channelSum(here, 0, isChannelsLast) : base::Result<Plane>(Plane());
    const bool isSameSize =
        plane && own && (own->isEmpty() || (plane->width == own->width && plane->height == own->height));
    if (!isSameSize) {
        return false;
    }
    figure.picture = heatmapOver(*plane, symmetricScale(plane->values, kPercentile), ColorMap(), pictureOf(model()));
    addShares(figure, input.isPicture ? *own : Plane(), *plane, input, m_control->objectBox);
    return true;
}

void CompareView::refresh(Changes changes)
{
    if (!(changes & (Change::Run | Change::Theme)) || !m_control) {
        return;
    }
    CompareFigure figure;
    const tensor::Tensor here = relevanceOf(model());
    const bool isComparable = fillSteps(figure, here) || fillPicture(figure, here);
    m_problem = isComparable ? QString()
                             : tr("The control model reads another kind of input, so its answer cannot be compared.");
    if (!isComparable) {
        return;
    }
    figure.verdict = tr("Control says %1").arg(m_control->predicted);
    figure.verdictFigure = m_control->probability ? percentText(*m_control->probability) : QString();
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

#include "moc_compareview.cpp"
