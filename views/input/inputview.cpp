// SPDX-License-Identifier: Apache-2.0
#include "views/input/inputview.h"

#include "core/tensor/npy.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/run/runtexts.h"
#include "views/common/widgets/boxes.h"
#include "views/input/inputpane.h"

#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kSmallPicture = 224; // design pixels: a larger one may be made smaller
constexpr double kMargins = 10;       // around the picture
constexpr double kAroundPicture = 34; // the same with one line of the sentence

/// A series with its steps from left to right, or the slices of any other tensor.
Plane planeOf(const tensor::Tensor& values, bool isSeries)
{
    const tensor::Shape& shape = values.shape();
    if (!isSeries || shape.size() != 3 || shape[0] != 1) {
        return sliceGrid(values).plane;
    }
    Plane plane{static_cast<int>(shape[1]), static_cast<int>(shape[2]), {}};
    const tensor::Tensor plain = values.contiguous();
    for (std::int64_t channel = 0; channel < shape[2]; ++channel) {
        for (std::int64_t step = 0; step < shape[1]; ++step) {
            plane.values.push_back(plain.at(step * shape[2] + channel));
        }
    }
    return plane;
}

constexpr qsizetype kMostNumbers = 24; ///< of a table's row that are listed

/// Numbers of a row, whose words are the names of its features.
bool isNamedRow(const tensor::Tensor* input)
{
    return input != nullptr && tensor::isFloating(input->dtype()) && input->rank() == 2 && input->shape()[0] == 1;
}

} // namespace

InputView::InputView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Input"));
    setEmptyText(tr("No input yet. Open a model and a picture, then run."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    m_pane = new InputPane(body);
    m_pane->setAccessibleName(tr("The input of the model"));
    m_tools = new CoverTools(body);
    m_tools->hide();
    column->addWidget(m_pane, 1);
    column->addWidget(m_tools);
    setBody(body);
    connect(m_pane, &InputPane::covered, this, &InputView::takeCover);
    connect(m_pane, &InputPane::brushLeft, this, &InputView::brushLeft);
    connect(m_pane, &InputPane::brushSizeChanged, this, &InputView::showTools);
    connect(m_tools, &CoverTools::brushSizeChanged, m_pane, &InputPane::setBrushSize);
    connect(m_tools, &CoverTools::colorChanged, this, [this] {
        if (cover().count() > 0) {
            emit coverChanged();
        }
    });
}

const tensor::Tensor* InputView::input() const
{
    const bool hasInput = model().hasRun() && !model().graph().inputs().empty();
    return hasInput ? model().forwardValue(model().graph().inputs().front()) : nullptr;
}

QString InputView::subject() const
{
    if (!model().hasRun() || model().graph().inputs().empty()) {
        return {};
    }
    QString shape = model().shapeText(model().graph().inputs().front());
    if (shape.startsWith(QStringLiteral("1 × "))) {
        shape.remove(0, 4);
    }
    return cover().count() > 0 ? tr("%1 · %2 covered").arg(shape, percentText(cover().share())) : shape;
}

QString InputView::hint() const
{
    if (model().hasRun() && !model().input().words.isEmpty() && !isNamedRow(input())) {
        return tr("The text that the model is given.");
    }
    if (model().hasRun() && !model().input().isPicture) {
        return tr("The numbers that the model is given.");
    }
    return hasBrush() ? tr("Drag over the picture to hide pixels from the model.") : tr("As the model sees it.");
}

bool InputView::canShow(const SelectedThing& thing) const
{
    if (!model().hasRun()) {
        return false;
    }
    const base::NodeId node = model().nodeOf(thing);
    return node.isValid() && model().graph().isInput(node);
}

bool InputView::isMostlyCovered(const QRect& box) const
{
    int covered = 0;
    for (int y = box.top(); y <= box.bottom(); ++y) {
        for (int x = box.left(); x <= box.right(); ++x) {
            covered += cover().covers(x, y) ? 1 : 0;
        }
    }
    return covered * 2 >= box.width() * box.height();
}

/// The first numbers of a table's row with their names; behind them how many more there are, or the facts.
QString InputView::rowText(const QString& facts) const
{
    const InputInfo& info = model().input();
    QStringList numbers;
    for (qsizetype i = 0; i < std::min(info.words.size(), kMostNumbers); ++i) {
        numbers.append(QStringLiteral("%1 %2").arg(info.words[i], valueText(input()->at(i), 4)));
    }
    numbers.append(info.words.size() > kMostNumbers ? tr("%1 more").arg(info.words.size() - kMostNumbers) : facts);
    return numbers.join(QLatin1Char('\n'));
}

QString InputView::sentence() const
{
    const InputInfo& info = model().input();
    QStringList parts;
    if (!info.trueClass.isEmpty()) {
        parts.append(tr("True class %1.").arg(info.trueClass));
    }
    if (info.tagBox) {
        const QString tag = info.tagName.isEmpty() ? tr("mark") : info.tagName;
        parts.append(isMostlyCovered(*info.tagBox) ? tr("Its %1 is covered.").arg(tag)
                                                   : tr("The picture carries a %1.").arg(tag));
    }
    if (parts.isEmpty() && !info.fileName.isEmpty()) {
        parts.append(info.fileName);
    }
    const QString facts = parts.join(QLatin1Char(' '));
    if (isNamedRow(input()) && info.words.size() == input()->size()) { // a table's row
        return rowText(facts);
    }
    const QStringList& words = model().input().words;
    const bool haveSpaces = std::any_of(words.begin(), words.end(), [](const QString& word) {
        return word.startsWith(QLatin1Char(' '));
    }); // tokens that bring their own
    return words.isEmpty()
               ? facts
               : tr("“%1”").arg(words.join(haveSpaces ? QString() : QStringLiteral(" "))) + QLatin1Char('\n') + facts;
}

QString InputView::emptyReason() const
{
    return input() == nullptr ? tr("This run does not hold its input.") : QString();
}

void InputView::refresh(Changes changes)
{
    if (!changes.testFlag(Change::Run) && !m_picture.isNull()) {
        return;
    }
    const tensor::Tensor* values = input();
    m_picture = {};
    if (values == nullptr) {
        return;
    }
    const InputInfo& info = model().input();
    if (info.isPicture) {
        m_picture = pictureOfTensor(*values, info.scaleLow, info.scaleHigh, info.mean, info.deviation,
                                    info.layout == QLatin1String("NHWC"), info.channels == QLatin1String("BGR"));
    }
    if (m_picture.isNull() && model().input().words.isEmpty()) {
        const Plane plane = planeOf(*values, info.layout == QLatin1String("NTC"));
        m_picture = heatmapOnly(plane, symmetricScale(plane.values), ColorMap());
    }
    m_pane->setContent(m_picture, sentence());
    showTools();
}

void InputView::addCoverButtons(const QList<QAction*>& actions) { m_tools->addButtons(actions); }

bool InputView::hasBrush() const { return m_pane->hasBrush(); }

const CoverSheet& InputView::cover() const { return m_pane->sheet(); }

CoverColor InputView::coverColor() const { return m_tools->color(); }

void InputView::setBrush(bool isOn)
{
    m_pane->setBrush(isOn);
    if (isOn) {
        m_pane->setFocus(Qt::OtherFocusReason);
    }
    showTools();
    emit captionChanged();
}

void InputView::showTools()
{
    m_tools->setBrushSize(m_pane->brushSize(), m_pane->widestBrush());
    const bool isShown = hasBrush() || cover().count() > 0;
    if (isShown == m_tools->isHidden()) {
        m_keptHeight = isShown ? m_pane->layoutNow().picture.height() : 0;
        m_pane->setTools(isShown);
        m_tools->setVisible(isShown);
        emit toolsShown();
    }
}

int InputView::leastHeight() const
{
    if (m_tools->isHidden()) {
        return 0;
    }
    const double picture = std::min(m_picture.height(), fonts::px(kSmallPicture)) + fonts::px(kAroundPicture);
    const double kept = m_keptHeight + fonts::px(kMargins); // the sentence gives way
    return static_cast<int>(std::ceil(std::max(picture, kept))) + m_tools->minimumSizeHint().height();
}

void InputView::changeCover(const std::function<void(CoverSheet&)>& change)
{
    change(m_pane->sheet());
    m_pane->takeSheet();
    takeCover();
}

void InputView::takeCover()
{
    showTools();
    emit captionChanged();
    emit coverChanged();
}

void InputView::coverBox(const QRect& box)
{
    changeCover([&](CoverSheet& sheet) {
        sheet.beginChange();
        sheet.coverBox(box);
    });
}

void InputView::uncoverAll()
{
    changeCover([](CoverSheet& sheet) {
        sheet.beginChange();
        sheet.uncoverAll();
    });
}

void InputView::startCover()
{
    m_pane->sheet().start(m_picture.size());
    m_pane->setApplied({});
    m_pane->takeSheet();
    m_pane->setContent(m_picture, sentence()); // it said what was covered
    showTools();
    emit captionChanged();
    emit coverStarted();
}

void InputView::setAppliedCover(const CoverSheet::Pixels& pixels) { m_pane->setApplied(pixels); }

base::Result<void> InputView::exportTo(const std::filesystem::path& path)
{
    if (input() == nullptr) {
        return base::usageError("there is no input to write", path.string());
    }
    if (m_picture.isNull() && path.extension() != ".npy") {
        return base::usageError("a text is no picture; write .npy", path.string());
    }
    return path.extension() == ".npy" ? tensor::writeNpy(path, *input())
                                      : writePicture(path, m_picture, runTexts(model().run(), model().position()));
}

} // namespace retro::views

#include "moc_inputview.cpp"
