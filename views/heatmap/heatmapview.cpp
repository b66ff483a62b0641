// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/heatmapview.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/common/run/historyfacts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/heatmap/arrivedrow.h"
#include "views/heatmap/controlrow.h"
#include "views/heatmap/heatmapcanvas.h"
#include "views/heatmap/otherrun.h"
#include "views/heatmap/pickedplace.h"
#include "views/heatmap/tableinput.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDataStream>
#include <QHBoxLayout>
#include <QIODevice>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr int kStateVersion = 2;
constexpr int kShownOfRunName = 14;

/// What the choice of colours carries while stops are written in the line below.
const QString kOwnStops = QStringLiteral("own");

// What the choices of another run carry.
const QString kHold = QStringLiteral("hold");
const QString kFile = QStringLiteral("file");
const QString kOther = QStringLiteral("other");

QToolButton* makeZoomButton(const QString& icon, const QString& tip, QWidget* parent)
{
    auto* button = new QToolButton(parent);
    button->setAutoRaise(true);
    button->setIcon(icons::icon(icon));
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    return button;
}

QComboBox* makeCombo(const QString& name, QWidget* parent)
{
    auto* combo = new QComboBox(parent);
    combo->setAccessibleName(name);
    combo->setToolTip(name);
    combo->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    return combo;
}

} // namespace

HeatmapView::HeatmapView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Heatmap"));
    setEmptyText(tr("No heatmap yet. Open a model and a picture, then run."), tr("Open a model"));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {0, fonts::px(1), 0, 0}, 0);
    m_canvas = new HeatmapCanvas(body);
    column->addWidget(makeControls(body));
    column->addWidget(makeStops(body));
    column->addWidget(makeRegionRow(body));
    column->addWidget(makeKindRow(body));
    column->addWidget(m_canvas, 1);
    m_arrived = new ArrivedRow(body);
    m_arrived->hide();
    column->addWidget(m_arrived);
    m_probe = new ElidedLabel({}, Role::Text2, fonts::numbers(), body);
    m_probe->setContentsMargins(fonts::px(10), 0, fonts::px(10), 0);
    m_probe->setFixedHeight(fonts::px(20));
    m_probe->setAccessibleName(tr("Value under the pointer"));
    column->addWidget(m_probe);
    connect(m_canvas, &HeatmapCanvas::probed, this, &HeatmapView::showProbe);
    connect(m_canvas, &HeatmapCanvas::picked, this, &HeatmapView::takePick);
    connect(m_canvas, &HeatmapCanvas::marked, this, &HeatmapView::takeMarks);
    connect(m_canvas, &HeatmapCanvas::wiped, this, [this](double place) { m_wipe = place; });
    setBody(body);
    showControls();
}

HeatmapView::~HeatmapView() = default;

QWidget* HeatmapView::makeControls(QWidget* parent)
{
    auto* row = new ControlRow(parent);
    m_mode = makeCombo(tr("How the heatmap is combined with the picture"), this);
    m_mode->addItem(tr("Over the picture"), static_cast<int>(HeatmapMode::Over));
    m_mode->addItem(tr("Only the heatmap"), static_cast<int>(HeatmapMode::Only));
    m_mode->addItem(tr("Side by side"), static_cast<int>(HeatmapMode::SideBySide));
    m_map = makeCombo(tr("Colours"), this);
    for (const QString& name : ColorMap::names()) {
        m_map->addItem(name == QLatin1String("relevance") ? tr("Blue to red") : name, name);
    }
    m_map->addItem(tr("Own stops…"), kOwnStops);
    m_clip = makeCombo(tr("Values beyond this share get the strongest colour"), this);
    for (const double percentile : {100.0, 99.9, 99.5, 99.0, 95.0}) {
        m_clip->addItem(percentile >= 100 ? tr("Not clipped") : tr("Clip at %1 %").arg(fixedText(percentile, 1)),
                        percentile);
    }
    m_gamma = makeCombo(tr("How faint values are drawn"), this);
    m_gamma->addItem(tr("Even colours"), 1.0);
    m_gamma->addItem(tr("Lift faint values"), 0.5);
    m_gamma->addItem(tr("Lift them more"), 0.25);
    m_gamma->addItem(tr("Only strong values"), 2.0);
    m_keep = new QCheckBox(tr("Keep scale over layers"), this);
    m_keep->setToolTip(tr("Holds the present scale while you step, cover pixels or ask another question, so that "
                          "colours compare"));
    m_smooth = new QCheckBox(tr("Smooth"), this);
    m_smooth->setToolTip(tr("Values run into each other, as publications like it; off, every value is a square"));
    row->addChoice(*m_mode, tr("Picture"));
    row->addChoice(*m_map, tr("Colours"));
    row->addChoice(*m_clip, tr("Clipping"));
    row->addChoice(*m_gamma, tr("Faint values"));
    m_against = makeCombo(tr("Another run on the right of a line that can be dragged"), this);
    m_against->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon); // names of runs may be long
    m_against->setMinimumContentsLength(kShownOfRunName);
    row->addChoice(*m_against, tr("Compare"));
    makeMethods(*row);
    showOther();
    connect(m_against, &QComboBox::currentIndexChanged, this, &HeatmapView::chooseOther);
    row->addOption(*m_keep);
    row->addOption(*m_smooth);
    for (const QComboBox* combo : {m_mode, m_clip, m_gamma}) {
        connect(combo, &QComboBox::currentIndexChanged, this, &HeatmapView::readControls);
    }
    connect(m_map, &QComboBox::currentIndexChanged, this, &HeatmapView::chooseMap);
    for (const QCheckBox* option : {m_keep, m_smooth}) {
        connect(option, &QCheckBox::toggled, this, &HeatmapView::readControls);
    }
    auto* smaller = makeZoomButton(QStringLiteral("zoomout"), tr("Smaller"), this);
    auto* fit = makeZoomButton(QStringLiteral("zoomfit"), tr("Fit"), this);
    auto* larger = makeZoomButton(QStringLiteral("zoomin"), tr("Larger"), this);
    connect(smaller, &QToolButton::clicked, m_canvas, &HeatmapCanvas::zoomOut);
    connect(fit, &QToolButton::clicked, m_canvas, &HeatmapCanvas::zoomToFit);
    connect(larger, &QToolButton::clicked, m_canvas, &HeatmapCanvas::zoomIn);
    row->addTools({smaller, fit, larger});
    return row;
}

QWidget* HeatmapView::makeStops(QWidget* parent)
{
    m_stopsRow = new QWidget(parent);
    auto* row = new QHBoxLayout(m_stopsRow);
    row->setContentsMargins(fonts::px(10), 0, fonts::px(10), fonts::px(4));
    m_stops = new QLineEdit(m_stopsRow);
    m_stops->setFont(fonts::numbers());
    m_stops->setAccessibleName(tr("Colour stops"));
    m_stops->setPlaceholderText(QStringLiteral("00f,80:fff,f00"));
    row->addWidget(m_stops);
    connect(m_stops, &QLineEdit::editingFinished, this, &HeatmapView::readControls);
    m_stopsRow->hide();
    return m_stopsRow;
}

QWidget* HeatmapView::makeRegionRow(QWidget* parent)
{
    m_regionRow = new QWidget(parent);
    auto* row = new QHBoxLayout(m_regionRow);
    row->setContentsMargins(fonts::px(10), 0, fonts::px(10), fonts::px(4));
    m_tool = makeCombo(tr("What dragging marks; Shift adds to what is marked"), m_regionRow);
    m_tool->addItem(tr("Mark a box"), static_cast<int>(MarkTool::Box));
    m_tool->addItem(tr("Mark with a brush"), static_cast<int>(MarkTool::Brush));
    m_quantity = makeCombo(tr("What is shown of the marked region"), m_regionRow);
    m_quantity->addItem(tr("Relevance"), 0);
    m_quantity->addItem(tr("What ends in the region"), 1);
    m_quantity->addItem(tr("Weight: per unit of relevance"), 2);
    row->addWidget(m_tool);
    row->addWidget(m_quantity);
    row->addStretch(1);
    connect(m_tool, &QComboBox::currentIndexChanged, this, [this] {
        if (m_canvas->markTool() != MarkTool::None) {
            setMarking(true);
        }
    });
    connect(m_quantity, &QComboBox::currentIndexChanged, this, [this] {
        redraw();
        emit captionChanged();
    });
    m_regionRow->hide();
    return m_regionRow;
}

void HeatmapView::showRegionRow()
{
    const bool hasRegion = m_region != nullptr && model().hasRun() && m_region->of(model().sharedRun()) != nullptr;
    const bool isMarking = m_canvas->markTool() != MarkTool::None;
    m_tool->setVisible(isMarking);
    m_quantity->setVisible(hasRegion);
    m_regionRow->setVisible(isMarking || hasRegion);
}

void HeatmapView::chooseMap()
{
    const bool isOwn = m_map->currentData().toString() == kOwnStops;
    m_stopsRow->setVisible(isOwn);
    if (isOwn) {
        m_stops->setFocus(Qt::OtherFocusReason);
    }
    readControls();
}

void HeatmapView::showOther()
{
    const QSignalBlocker blocker(m_against);
    m_against->clear();
    m_against->addItem(tr("This run alone"));
    m_against->addItem(tr("Hold this run, compare the next"), kHold);
    m_against->addItem(tr("Against a run file…"), kFile);
    if (m_other) {
        m_against->addItem(tr("Against %1").arg(m_other->name()), kOther);
        m_against->setCurrentIndex(m_against->count() - 1);
    }
}

void HeatmapView::chooseOther()
{
    const QString choice = m_against->currentData().toString();
    if (choice == kHold) {
        holdThisRun();
    } else if (choice.isEmpty()) {
        clearOther();
    } else if (choice == kFile) {
        emit otherRunWanted();
    }
    showOther(); // a choice that led nowhere changes nothing
}

void HeatmapView::setOther(RunHandle run, InputInfo input, const QString& name)
{
    m_other = std::make_unique<OtherRun>(std::move(run), std::move(input), name);
    showOther();
    redraw();
}

std::shared_ptr<const trace::Run> HeatmapView::otherRun() const
{
    return m_other != nullptr ? m_other->run() : nullptr;
}

void HeatmapView::clearOther()
{
    m_other.reset();
    showOther();
    redraw();
}

void HeatmapView::holdThisRun()
{
    if (model().hasRun()) {
        setOther(model().handleOfItsOwn(), model().input(), tr("held: %1").arg(shortNameOf(model())));
    }
}

void HeatmapView::readMap()
{
    const bool isOwn = m_map->currentData().toString() == kOwnStops;
    const QString name = isOwn ? m_stops->text().trimmed() : m_map->currentData().toString();
    auto map = name.isEmpty() ? base::Result<ColorMap>(m_settings.map) : ColorMap::find(name);
    QPalette colors;
    if (map.ok()) {
        m_settings.map = std::move(map).value();
        m_stops->setToolTip(tr("Colours from −1 to 1, hexadecimal, each with an index before a colon if wanted"));
    } else { // the map before stays
        m_stops->setToolTip(QString::fromStdString(map.error().text()));
        colors.setColor(QPalette::Text, theme(this)[Role::AlarmText]);
    }
    m_stops->setPalette(colors);
}

QString HeatmapView::title() const
{
    const QString target = model().hasRun() ? targetName(model()) : QString();
    if (showsMap()) {
        return target.isEmpty() ? m_method->currentText() : tr("%1 for “%2”").arg(m_method->currentText(), target);
    }
    return target.isEmpty() ? tr("Heatmap") : tr("Relevance for “%1”").arg(target);
}

QString HeatmapView::hint() const
{
    if (!model().hasRun()) {
        return {};
    }
    const QString target = targetName(model());
    if (target.isEmpty()) {
        return {};
    }
    if (showsMap()) {
        return tr("The stronger the red, the more the feature map speaks for %1 there.").arg(target);
    }
    if (m_content.isSteps && isTable(model())) {
        return tr("Red features speak for %1, blue ones against it.").arg(target);
    }
    if (m_content.isSteps) {
        return stepWords().isEmpty() ? tr("Red steps speak for %1, blue ones against it.").arg(target)
                                     : tr("Red words speak for %1, blue ones against it.").arg(target);
    }
    QString words = tr("Red speaks for %1, blue against it.").arg(target); // short: narrow panes have two lines
    if (model().input().tagBox && m_content.isPicture) {
        words += QLatin1Char(' ') + tr("Frame: %1.").arg(model().input().tagName);
    }
    return words;
}

bool HeatmapView::canShow(const SelectedThing& thing) const
{
    return model().hasRun() && model().valueOf(thing).isValid();
}

void HeatmapView::refresh(Changes changes)
{
    const QString modelName = QString::fromStdString(model().run().facts.modelName);
    if (changes.testFlag(Change::Run) && modelName != m_modelName) {
        m_modelName = modelName;
        m_settings.keptLimit.reset();
    }
    if (changes.testFlag(Change::Run)) {
        m_attentions.clear();
        if (!stepWords().isEmpty()) {
            m_attentions = attentionsOf(model(), static_cast<std::size_t>(stepWords().size()));
        }
        showLinkChoices();
    }
    takeContent();
    drawContent();
}

void HeatmapView::applyQuantity()
{
    const int quantity = m_quantity->currentData().toInt();
    const RegionPointer region = m_region != nullptr ? m_region->of(model().sharedRun()) : nullptr;
    if (quantity == 0 || !region || !m_content.relevance.isValid()) {
        return;
    }
    const std::size_t at = m_content.value.index();
    const tensor::Tensor weights = at < region->weights.size() ? region->weights[at] : tensor::Tensor();
    tensor::Tensor shown = quantity == 1 ? region->product(m_content.value) : weights;
    if (!shown.isValid()) {
        shown = tensor::Tensor::full(tensor::DType::Float32, m_content.relevance.shape(), 0); // nothing ends there
    }
    showTensor(model(), shown, m_content);
    m_content.place = quantity == 1 ? tr("%1, what ends in the region").arg(m_content.place)
                                    : tr("%1, weight per unit of relevance").arg(m_content.place);
}

void HeatmapView::setMarking(bool isOn)
{
    m_canvas->setMarkTool(isOn ? static_cast<MarkTool>(m_tool->currentData().toInt()) : MarkTool::None);
    showRegionRow();
    emit captionChanged();
}

void HeatmapView::followRegion(const RegionOverlay& overlay)
{
    m_region = &overlay;
    connect(&overlay, &RegionOverlay::changed, this, &HeatmapView::showRegion);
}

/// The region's outline, where what is drawn lies over the input.
void HeatmapView::showMarks()
{
    const RegionPointer region = m_region != nullptr && model().hasRun() ? m_region->of(model().sharedRun()) : nullptr;
    if (!region || m_canvas->isMarking() || region->mask.width != m_planeSize.width() ||
        region->mask.height != m_planeSize.height()) {
        return;
    }
    Marks marks(region->mask.values.size(), 0);
    for (std::size_t i = 0; i < marks.size(); ++i) {
        marks[i] = region->mask.values[i] != 0 ? 1 : 0;
    }
    m_canvas->setMarks(std::move(marks));
}

void HeatmapView::showRegion()
{
    const RegionPointer region = model().hasRun() ? m_region->of(model().sharedRun()) : nullptr;
    const bool isShown = region != nullptr;
    showRegionRow();
    if (!isShown && m_region->region() == nullptr) {
        m_canvas->setMarks({});
    }
    showMarks();
    if (m_quantity->currentIndex() != 0 && isVisible()) {
        redraw();
    }
}

void HeatmapView::takePick(QPoint value)
{
    const auto place = model().hasRun() ? pickedPlace(model(), m_content, m_planeSize, value) : std::nullopt;
    if (place) {
        emit elementPicked(m_content.value, *place);
    }
}

void HeatmapView::takeMarks()
{
    if (!model().hasRun()) {
        return;
    }
    const tensor::Tensor mask = markedMask(model(), m_content, m_planeSize, m_canvas->marks());
    if (mask.isValid()) {
        emit regionMarked(markedInput(model(), m_content, m_planeSize), mask,
                          markedText(m_content, m_planeSize, m_canvas->marks()));
    }
}

void HeatmapView::setGrowing(bool isGrowing)
{
    m_isGrowing = isGrowing;
    m_arrived->setVisible(isGrowing);
}

void HeatmapView::showArrived()
{
    if (!m_isGrowing || !m_content.value.isValid()) {
        return;
    }
    const auto started = model().derived<StartedRelevance>();
    const bool isShare = started->isConserved && started->sum != 0 && m_content.relevance.isValid();
    QString shape = model().shortShapeText(m_content.value);
    if (m_content.isPicture && !shape.isEmpty()) {
        shape = tr("%1, channels added").arg(shape);
    }
    m_arrived->setFacts(model().placeLabel(model().graph().nodeOf(m_content.value)), shape,
                        isShare ? std::optional(m_content.sum / started->sum) : std::nullopt, m_content.landed > 0);
}

void HeatmapView::redraw()
{
    if (model().hasRun()) {
        takeContent(); // another run may have come since the last refresh
        drawContent();
    }
}

void HeatmapView::drawContent()
{
    if (!m_content.relevance.isValid()) {
        return;
    }
    HeatmapFigure figure = figureOf();
    m_otherProblem = m_other ? m_other->wipe(figure, model(), m_content, m_settings, m_wipe) : QString();
    if (!m_inputMap.method.isEmpty() && !m_inputMap.values.isValid()) {
        m_otherProblem = m_inputMap.words;
    }
    m_probe->setText(m_otherProblem);
    if (m_keep->isChecked() && !m_settings.keptLimit) {
        m_settings.keptLimit = figure.bar.scale.limit;
    }
    m_mode->setEnabled(m_content.isPicture || m_content.isVolume);
    m_smooth->setEnabled(m_content.isPicture);
    m_planeSize = QSize(figure.plane.width, figure.plane.height);
    StepsChart chart;
    if (m_content.isSteps) {
        chart = chartOf(figure);
    }
    m_canvas->setFigure(std::move(figure));
    m_canvas->setChart(std::move(chart));
    showKindRow();
    showOutlines();
    showMarks();
    showArrived();
}

HeatmapFigure HeatmapView::figureOf() const
{
    HeatmapFigure figure = heatmapFigure(model(), m_content, m_settings);
    if (stepWords().size() == figure.plane.width) {
        figure.strip.words = stepWords();
    }
    return figure;
}

void HeatmapView::readControls()
{
    m_settings.mode = static_cast<HeatmapMode>(m_mode->currentData().toInt());
    readMap();
    m_settings.percentile = m_clip->currentData().toDouble();
    m_settings.gamma = m_gamma->currentData().toDouble();
    m_settings.isSmooth = m_smooth->isChecked();
    if (!m_keep->isChecked()) {
        m_settings.keptLimit.reset();
    }
    redraw();
}

void HeatmapView::showControls()
{
    const QSignalBlocker mode(m_mode);
    const QSignalBlocker map(m_map);
    const QSignalBlocker clip(m_clip);
    const QSignalBlocker gamma(m_gamma);
    const QSignalBlocker smooth(m_smooth);
    const QSignalBlocker keep(m_keep);
    m_mode->setCurrentIndex(std::max(0, m_mode->findData(static_cast<int>(m_settings.mode))));
    const int named = m_map->findData(m_settings.map.name());
    m_map->setCurrentIndex(named >= 0 ? named : m_map->findData(kOwnStops));
    m_stopsRow->setVisible(named < 0);
    if (named < 0) {
        m_stops->setText(m_settings.map.name());
    }
    m_clip->setCurrentIndex(std::max(0, m_clip->findData(m_settings.percentile)));
    m_gamma->setCurrentIndex(std::max(0, m_gamma->findData(m_settings.gamma)));
    m_smooth->setChecked(m_settings.isSmooth);
    m_keep->setChecked(m_settings.keptLimit.has_value());
}

void HeatmapView::setSettings(const HeatmapSettings& settings)
{
    m_settings = settings;
    showControls();
    redraw();
}

void HeatmapView::showProbe(QPoint value)
{
    const HeatmapFigure& figure = m_canvas->figure();
    if (value.x() < 0 || value.x() >= figure.plane.width || value.y() >= figure.plane.height) {
        m_probe->setText(m_otherProblem);
        return;
    }
    const double v = figure.plane.at(value.x(), value.y());
    if (m_content.isSteps) {
        const QString number = countText(std::int64_t{value.x()} + 1);
        const std::vector<double>& features = m_canvas->chart().features;
        if (static_cast<std::size_t>(value.x()) < features.size()) {
            const auto at = static_cast<std::size_t>(value.x());
            return m_probe->setText(
                tr("%1 = %2   %3").arg(figure.strip.word(at), valueText(features[at]), valueText(v)));
        }
        m_probe->setText(figure.strip.words.isEmpty()
                             ? tr("step %1   %2").arg(number, valueText(v))
                             : tr("word %1  %2   %3").arg(number, figure.strip.words[value.x()], valueText(v)));
        return;
    }
    if (m_content.isVolume) {
        const auto place = pickedPlace(model(), m_content, m_planeSize, value);
        return m_probe->setText(place ? QStringLiteral("[%1]   %2").arg(placeText(*place), valueText(v)) : QString());
    }
    if (std::isnan(v)) {
        m_probe->setText({});
        return;
    }
    const QString here = tr("x %1  y %2   %3").arg(value.x(), 3).arg(value.y(), 3).arg(valueText(v));
    m_probe->setText(
        figure.wipe ? tr("%1   other run %2").arg(here, valueText(figure.wipe->plane.at(value.x(), value.y()))) : here);
}

QByteArray HeatmapView::saveState() const
{
    QByteArray bytes;
    QDataStream stream(&bytes, QIODevice::WriteOnly);
    stream << kStateVersion << static_cast<int>(m_settings.mode) << m_settings.map.name() << m_settings.percentile
           << m_settings.gamma << m_settings.isSmooth;
    return bytes;
}

void HeatmapView::restoreState(const QByteArray& state)
{
    QDataStream stream(state);
    int version = 0;
    int mode = 0;
    QString map;
    HeatmapSettings settings;
    stream >> version >> mode >> map >> settings.percentile >> settings.gamma >> settings.isSmooth;
    auto found = ColorMap::find(map);
    if (stream.status() != QDataStream::Ok || version != kStateVersion || mode < 0 || mode > 2 ||
        !(settings.gamma > 0) || !found.ok()) {
        return;
    }
    settings.mode = static_cast<HeatmapMode>(mode);
    settings.map = std::move(found).value();
    setSettings(settings);
}

} // namespace retro::views

#include "moc_heatmapview.cpp"
