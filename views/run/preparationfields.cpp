// SPDX-License-Identifier: Apache-2.0
#include "views/run/preparationfields.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/elidedlabel.h"

#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>

#include <algorithm>
#include <array>

namespace retro::views
{

namespace
{

struct ScaleItem
{
    const char* text;
    const char* channels;
    double low;
    double high;
};

constexpr std::array kScales{
    ScaleItem{QT_TRANSLATE_NOOP("retro::views::PreparationFields", "RGB, 0 to 1"), "RGB", 0, 1},
    ScaleItem{QT_TRANSLATE_NOOP("retro::views::PreparationFields", "RGB, 0 to 255"), "RGB", 0, 255},
    ScaleItem{QT_TRANSLATE_NOOP("retro::views::PreparationFields", "BGR, 0 to 1"), "BGR", 0, 1},
    ScaleItem{QT_TRANSLATE_NOOP("retro::views::PreparationFields", "BGR, 0 to 255"), "BGR", 0, 255},
    ScaleItem{QT_TRANSLATE_NOOP("retro::views::PreparationFields", "grey, 0 to 1"), "GRAY", 0, 1},
    ScaleItem{QT_TRANSLATE_NOOP("retro::views::PreparationFields", "grey, 0 to 255"), "GRAY", 0, 255},
};

// What a scale item carries besides its text.
constexpr int kChannels = Qt::UserRole;
constexpr int kLow = Qt::UserRole + 1;
constexpr int kHigh = Qt::UserRole + 2;

constexpr double kPreview = 32; // design pixels

void addScale(QComboBox& box, const QString& text, const QString& channels, double low, double high)
{
    box.addItem(text);
    const int at = box.count() - 1;
    box.setItemData(at, channels, kChannels);
    box.setItemData(at, low, kLow);
    box.setItemData(at, high, kHigh);
}

} // namespace

PreparationFields::PreparationFields(QWidget* parent) : QWidget(parent)
{
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(fonts::px(8));
    grid->setVerticalSpacing(fonts::px(6));
    grid->setColumnStretch(1, 1);
    m_layout = new QComboBox(this);
    m_layout->addItem(tr("channels first (NCHW)"), QStringLiteral("NCHW"));
    m_layout->addItem(tr("channels last (NHWC)"), QStringLiteral("NHWC"));
    addRow(*grid, tr("Layout"), *m_layout, tr("Order of the axes that the model wants"));
    m_pixels = new QComboBox(this);
    m_pixels->addItem(tr("as shown"), QStringLiteral("shown"));
    m_pixels->addItem(tr("as stored"), QStringLiteral("stored"));
    addRow(
        *grid, tr("Pixels"), *m_pixels,
        tr("As browsers show the picture, turned by its EXIF orientation, transparent parts on white; or as they lie "
           "in the file"));
    m_frame = new QComboBox(this);
    m_frame->addItem(tr("stretched"), QStringLiteral("stretch"));
    m_frame->addItem(tr("the middle"), QStringLiteral("crop"));
    m_frame->addItem(tr("the middle, 224 of 256"), QStringLiteral("crop=0.875"));
    m_frame->addItem(tr("between bars"), QStringLiteral("letterbox"));
    addRow(*grid, tr("Frame"), *m_frame,
           tr("How a picture of other sides fits: each side stretched by itself, the middle cut out, or the whole "
              "picture between black bars"));
    m_scale = new QComboBox(this);
    for (const ScaleItem& scale : kScales) {
        addScale(*m_scale, tr(scale.text), QLatin1String(scale.channels), scale.low, scale.high);
    }
    addRow(*grid, tr("Values"), *m_scale, tr("Order of the colours, and what black and white become"));
    m_preset = new QComboBox(this);
    m_preset->addItem(tr("none"), static_cast<int>(Normalisation::None));
    m_preset->addItem(tr("ImageNet"), static_cast<int>(Normalisation::ImageNet));
    m_preset->addItem(tr("−1 to 1"), static_cast<int>(Normalisation::Centred));
    m_preset->addItem(tr("own numbers"), static_cast<int>(Normalisation::Custom));
    addRow(*grid, tr("Mean, std"), *m_preset, tr("Mean is taken away, then the rest is divided by std"));
    m_mean = makeNumbers(*grid, tr("Mean"), tr("One number, or one per colour: 0.485, 0.456, 0.406"));
    m_deviation = makeNumbers(*grid, tr("Std"), tr("One number above 0, or one per colour: 0.229, 0.224, 0.225"));
    auto* preview = new QHBoxLayout;
    preview->setSpacing(fonts::px(8));
    m_picture = new QLabel(this);
    m_picture->setAccessibleName(tr("The picture as it will be given to the model"));
    m_figures = new QLabel(this);
    m_figures->setFont(fonts::label());
    m_figures->setWordWrap(true);
    m_figures->setTextFormat(Qt::PlainText);
    preview->addWidget(m_picture);
    preview->addWidget(m_figures, 1);
    grid->addLayout(preview, grid->rowCount(), 0, 1, 2);
    connect(m_layout, &QComboBox::activated, this, [this] {
        m_preparation.layout = m_layout->currentData().toString();
        emit changed();
    });
    connect(m_pixels, &QComboBox::activated, this, [this] {
        m_preparation.pixels = m_pixels->currentData().toString();
        emit changed();
    });
    connect(m_frame, &QComboBox::activated, this, [this] {
        m_preparation.frame = m_frame->currentData().toString();
        emit changed();
    });
    connect(m_scale, &QComboBox::activated, this, &PreparationFields::readScale);
    connect(m_preset, &QComboBox::activated, this, &PreparationFields::readPreset);
    connect(&ThemeHub::instance(), &ThemeHub::changed, this, &PreparationFields::showPreview);
    setPreparation({});
    showPreview();
}

void PreparationFields::addRow(QGridLayout& grid, const QString& name, QWidget& field, const QString& tip)
{
    auto* label = new ElidedLabel(name, Role::Text2, fonts::label(), this);
    label->setMinimumWidth(label->sizeHint().width());
    label->setBuddy(&field);
    field.setAccessibleName(name);
    field.setToolTip(tip);
    if (auto* box = qobject_cast<QComboBox*>(&field)) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(9);
    }
    const int row = grid.rowCount();
    grid.addWidget(label, row, 0);
    grid.addWidget(&field, row, 1);
    m_rows.push_back(label);
    m_rows.push_back(&field);
}

QLineEdit* PreparationFields::makeNumbers(QGridLayout& grid, const QString& name, const QString& tip)
{
    auto* edit = new QLineEdit(this);
    edit->setFont(fonts::numbers());
    addRow(grid, name, *edit, tip);
    for (std::size_t i = m_rows.size() - 2; i < m_rows.size(); ++i) {
        m_custom.push_back(m_rows[i]);
    }
    connect(edit, &QLineEdit::textEdited, this, &PreparationFields::readNumbers);
    return edit;
}

int PreparationFields::scaleIndex()
{
    for (int i = 0; i < m_scale->count(); ++i) {
        if (m_scale->itemData(i, kChannels).toString() == m_preparation.channels &&
            m_scale->itemData(i, kLow).toDouble() == m_preparation.low &&
            m_scale->itemData(i, kHigh).toDouble() == m_preparation.high) {
            return i;
        }
    }
    addScale(
        *m_scale,
        tr("%1, %2 to %3").arg(m_preparation.channels, valueText(m_preparation.low), valueText(m_preparation.high)),
        m_preparation.channels, m_preparation.low, m_preparation.high);
    return m_scale->count() - 1;
}

int PreparationFields::frameIndex()
{
    if (m_frame->findData(m_preparation.frame) < 0) { // another part of the middle: crop=0.9
        m_frame->addItem(m_preparation.frame, m_preparation.frame);
    }
    return m_frame->findData(m_preparation.frame);
}

void PreparationFields::setPreparation(const Preparation& preparation)
{
    m_preparation = preparation;
    m_problem.clear();
    m_layout->setCurrentIndex(std::max(0, m_layout->findData(preparation.layout)));
    m_pixels->setCurrentIndex(std::max(0, m_pixels->findData(preparation.pixels)));
    m_frame->setCurrentIndex(frameIndex());
    m_scale->setCurrentIndex(scaleIndex());
    m_preset->setCurrentIndex(m_preset->findData(static_cast<int>(normalisationOf(preparation))));
    showNumbers();
}

void PreparationFields::readScale()
{
    const auto preset = static_cast<Normalisation>(m_preset->currentData().toInt());
    m_preparation.channels = m_scale->currentData(kChannels).toString();
    m_preparation.low = m_scale->currentData(kLow).toDouble();
    m_preparation.high = m_scale->currentData(kHigh).toDouble();
    normalise(m_preparation, preset); // a preset keeps its meaning on the new scale
    showNumbers();
    emit changed();
}

void PreparationFields::readPreset()
{
    normalise(m_preparation, static_cast<Normalisation>(m_preset->currentData().toInt()));
    m_problem.clear();
    showNumbers();
    emit changed();
}

void PreparationFields::readNumbers()
{
    std::vector<double> mean;
    std::vector<double> deviation;
    const bool areNumbers = parseNumbers(m_mean->text(), mean) && parseNumbers(m_deviation->text(), deviation);
    const bool isDivisible = std::all_of(deviation.begin(), deviation.end(), [](double d) { return d > 0; });
    m_problem = !areNumbers   ? tr("Mean and std are one number or three, like 0.485, 0.456, 0.406.")
                : isDivisible ? QString()
                              : tr("Std is divided by, so it must be above 0.");
    if (m_problem.isEmpty()) {
        m_preparation.mean = std::move(mean);
        m_preparation.deviation = std::move(deviation);
    }
    showPreview();
    emit changed();
}

void PreparationFields::showNumbers()
{
    const bool isCustom = m_preset->currentData().toInt() == static_cast<int>(Normalisation::Custom);
    m_mean->setText(numbersText(m_preparation.mean));
    m_deviation->setText(numbersText(m_preparation.deviation));
    for (QWidget* widget : m_custom) {
        widget->setVisible(isCustom && !m_layout->isHidden());
    }
}

void PreparationFields::setTakesPictures(bool takesPictures)
{
    for (QWidget* widget : m_rows) {
        widget->setVisible(takesPictures);
    }
    showNumbers();
}

void PreparationFields::setPreview(const InputPreview& preview)
{
    m_preview = preview;
    showPreview();
}

void PreparationFields::showPreview()
{
    const QString problem = m_problem.isEmpty() ? m_preview.problem : m_problem;
    const int side = fonts::px(kPreview);
    m_picture->setVisible(!m_preview.picture.isNull());
    if (!m_preview.picture.isNull()) {
        m_picture->setPixmap(
            QPixmap::fromImage(m_preview.picture.scaled(side, side, Qt::KeepAspectRatio, Qt::SmoothTransformation)));
    }
    m_figures->setText(problem.isEmpty() ? m_preview.figures : problem);
    m_figures->setVisible(!m_figures->text().isEmpty());
    QPalette palette = m_figures->palette();
    palette.setColor(QPalette::WindowText, theme(this)[problem.isEmpty() ? Role::Text2 : Role::AlarmText]);
    m_figures->setPalette(palette);
}

} // namespace retro::views

#include "moc_preparationfields.cpp"
