// SPDX-License-Identifier: Apache-2.0
#include "views/run/runpanel.h"

#include "views/common/fonts.h"
#include "views/common/heatmapimage.h"
#include "views/common/icons.h"
#include "views/common/style.h"
#include "views/common/theme.h"
#include "views/run/thumbnailbutton.h"

#include <QComboBox>
#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>

#include <array>

namespace retro::views
{

namespace
{

/// Share of the values of a thumbnail whose colour is not clipped.
constexpr double kThumbnailPercentile = 99.5;

struct CompositeName
{
    const char* name;
    const char* title;
};

constexpr std::array kComposites{
    CompositeName{"epsilon", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Epsilon")},
    CompositeName{"epsilon_plus", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Epsilon + z-plus")},
    CompositeName{"epsilon_plus_flat", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Epsilon + z-plus, flat")},
    CompositeName{"epsilon_alpha2_beta1", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Alpha 2 beta 1")},
    CompositeName{"epsilon_alpha2_beta1_flat", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Alpha 2 beta 1, flat")},
    CompositeName{"epsilon_gamma_box", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Gamma, box")},
    CompositeName{"excitation_backprop", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Excitation backprop")},
    CompositeName{"guided_backprop", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Guided backprop")},
    CompositeName{"deconvnet", QT_TRANSLATE_NOOP("retro::views::RunPanel", "DeconvNet")},
    CompositeName{"beta_smooth", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Beta smooth")},
    CompositeName{"dynamic", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Dynamic (magnitudes)")},
    CompositeName{"gradient", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Gradient")},
    CompositeName{"gradient_x_input", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Gradient × input")},
};

void choose(QComboBox& box, const QString& data)
{
    const int at = box.findData(data);
    if (at >= 0) {
        box.setCurrentIndex(at);
    }
}

QImage thumbnailOf(const tensor::Tensor& relevance)
{
    const auto plane = channelSum(relevance);
    if (!plane) {
        return {};
    }
    return heatmapOnly(*plane, symmetricScale(plane->values, kThumbnailPercentile), ColorMap());
}

} // namespace

QStringList RunPanel::composites()
{
    QStringList names;
    for (const CompositeName& composite : kComposites) {
        names.append(QLatin1String(composite.name));
    }
    return names;
}

QString RunPanel::compositeTitle(const QString& composite)
{
    for (const CompositeName& known : kComposites) {
        if (composite == QLatin1String(known.name)) {
            return tr(known.title);
        }
    }
    return composite;
}

RunPanel::RunPanel(QWidget* parent) : QWidget(parent)
{
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->setSpacing(0);
    auto* area = new QScrollArea(this);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* content = new QWidget(area);
    auto* column = new QVBoxLayout(content);
    const int margin = fonts::px(12);
    column->setContentsMargins(margin, fonts::px(4), margin, fonts::px(8));
    column->setSpacing(fonts::px(6));

    column->addWidget(makeSection(tr("Model")));
    m_model = new QLabel(tr("nothing open"), content);
    m_model->setTextFormat(Qt::PlainText);
    m_summary = new QLabel(content);
    m_summary->setTextFormat(Qt::PlainText);
    m_problem = new QLabel(content);
    m_problem->setWordWrap(true);
    m_problem->setTextFormat(Qt::PlainText);
    m_problem->hide();
    m_openModel = new QPushButton(tr("Open model…"), content);
    column->addWidget(m_model);
    column->addWidget(m_summary);
    column->addWidget(m_problem);
    column->addWidget(m_openModel);

    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(fonts::px(8));
    grid->setVerticalSpacing(fonts::px(6));
    grid->setColumnStretch(1, 1);
    m_input = new QComboBox(content);
    m_openInput = new QToolButton(content);
    m_openInput->setIcon(icons::icon(QStringLiteral("open")));
    m_openInput->setToolTip(tr("Choose a picture or an .npy file"));
    m_openInput->setAccessibleName(m_openInput->toolTip());
    m_target = new QComboBox(content);
    m_start = new QComboBox(content);
    m_start->addItem(tr("class score (logit)"), QStringLiteral("logit"));
    m_start->addItem(tr("one"), QStringLiteral("one"));
    m_start->addItem(tr("against the others"), QStringLiteral("contrastive"));
    m_start->addItem(tr("the whole output"), QStringLiteral("all"));
    column->addWidget(makeSection(tr("Input")));
    addRow(*grid, tr("Data"), m_input, m_openInput);
    column->addLayout(grid);
    column->addWidget(makeSection(tr("Question")));
    auto* question = new QGridLayout;
    question->setHorizontalSpacing(fonts::px(8));
    question->setVerticalSpacing(fonts::px(6));
    question->setColumnStretch(1, 1);
    addRow(*question, tr("Target"), m_target);
    addRow(*question, tr("Start"), m_start);
    column->addLayout(question);

    column->addWidget(makeSection(tr("Rules")));
    m_composite = new QComboBox(content);
    for (const CompositeName& composite : kComposites) {
        m_composite->addItem(tr(composite.title), QLatin1String(composite.name));
    }
    m_composite->setAccessibleName(tr("Rules"));
    column->addWidget(m_composite);
    auto* pictures = new QGridLayout;
    pictures->setSpacing(fonts::px(8));
    for (int i = 0; i < 4; ++i) {
        auto* button = new ThumbnailButton(content);
        button->hide();
        connect(button, &ThumbnailButton::clicked, this, [this, button] {
            choose(*m_composite, button->property("composite").toString());
            emit runRequested();
        });
        pictures->addWidget(button, i / 2, i % 2);
        m_thumbnails.push_back(button);
    }
    column->addLayout(pictures);
    column->addStretch(1);
    area->setWidget(content);
    outer->addWidget(area, 1);

    m_run = new QPushButton(tr("Run"), this);
    setFilled(*m_run, true);
    m_run->setEnabled(false);
    m_run->setToolTip(tr("Open a model first"));
    auto* foot = new QVBoxLayout;
    foot->setContentsMargins(margin, fonts::px(4), margin, margin);
    foot->addWidget(m_run);
    outer->addLayout(foot);

    connect(m_openModel, &QPushButton::clicked, this, &RunPanel::openModelRequested);
    connect(m_openInput, &QToolButton::clicked, this, &RunPanel::openInputRequested);
    connect(m_run, &QPushButton::clicked, this, [this] {
        if (m_isRunning) {
            emit stopRequested();
        } else {
            emit runRequested();
        }
    });
    // A view like the others: on the base colour, not on the window's grey.
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    area->setBackgroundRole(QPalette::Base);
    area->viewport()->setBackgroundRole(QPalette::Base);
    content->setBackgroundRole(QPalette::Base);
    content->setAutoFillBackground(true);
    applyColors();
}

QWidget* RunPanel::makeSection(const QString& title)
{
    auto* label = new QLabel(title, this);
    label->setFont(fonts::label(QFont::DemiBold));
    label->setContentsMargins(0, fonts::px(6), 0, 0);
    m_sections.push_back(label);
    return label;
}

void RunPanel::addRow(QGridLayout& grid, const QString& name, QWidget* field, QWidget* extra)
{
    auto* label = new QLabel(name, this);
    label->setFont(fonts::label());
    m_names.push_back(label);
    const int row = grid.rowCount();
    grid.addWidget(label, row, 0);
    grid.addWidget(field, row, 1, 1, extra == nullptr ? 2 : 1);
    field->setAccessibleName(name);
    if (auto* box = qobject_cast<QComboBox*>(field)) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(6);
    }
    if (extra != nullptr) {
        grid.addWidget(extra, row, 2);
    }
}

void RunPanel::setModel(const ModelFacts& facts)
{
    const Question before = question();
    m_model->setText(facts.name.isEmpty() ? tr("nothing open") : facts.name);
    m_summary->setText(facts.summary);
    m_summary->setVisible(!facts.summary.isEmpty());
    m_problem->setText(facts.problem);
    m_problem->setVisible(!facts.problem.isEmpty());
    m_input->clear();
    for (const InputChoice& choice : facts.inputs) {
        m_input->addItem(choice.label, choice.source);
    }
    m_target->clear();
    m_target->addItem(tr("predicted class"), QStringLiteral("argmax"));
    for (int i = 0; i < facts.labels.size(); ++i) {
        m_target->addItem(facts.labels[i], QString::number(i));
    }
    choose(*m_input, before.input);
    choose(*m_target, before.target);
    const bool canRun = !facts.name.isEmpty() && facts.problem.isEmpty();
    m_run->setEnabled(canRun);
    m_run->setToolTip(canRun ? tr("Explain this input (Ctrl+R)")
                             : (facts.problem.isEmpty() ? tr("Open a model first") : facts.problem));
    m_openInput->setEnabled(!facts.name.isEmpty());
}

void RunPanel::setQuestion(const Question& question)
{
    if (m_input->findData(question.input) < 0 && !question.input.isEmpty()) {
        m_input->addItem(question.input.section(QLatin1Char('/'), -1), question.input);
    }
    choose(*m_input, question.input);
    choose(*m_target, question.target);
    choose(*m_start, question.start);
    if (m_composite->findData(question.composite) < 0 && !question.composite.isEmpty()) {
        m_composite->addItem(question.composite, question.composite);
    }
    choose(*m_composite, question.composite);
}

Question RunPanel::question() const
{
    return {m_input->currentData().toString(), m_target->currentData().toString(), m_start->currentData().toString(),
            m_composite->currentData().toString()};
}

void RunPanel::setThumbnails(const std::vector<CompositeThumbnail>& thumbnails, const QString& current)
{
    for (std::size_t i = 0; i < m_thumbnails.size(); ++i) {
        ThumbnailButton& button = *m_thumbnails[i];
        const bool isUsed = i < thumbnails.size();
        button.setVisible(isUsed);
        if (!isUsed) {
            continue;
        }
        button.setText(compositeTitle(thumbnails[i].composite));
        button.setToolTip(tr("Explain with %1").arg(button.text()));
        button.setProperty("composite", thumbnails[i].composite);
        button.setChecked(thumbnails[i].composite == current);
        button.setImage(thumbnailOf(thumbnails[i].relevance));
    }
}

void RunPanel::setRunning(bool isRunning)
{
    m_isRunning = isRunning;
    m_run->setText(isRunning ? tr("Stop") : tr("Run"));
}

void RunPanel::applyColors()
{
    const Theme& colors = theme(this);
    const auto tint = [](QLabel& label, const QColor& color) {
        QPalette palette = label.palette();
        if (palette.color(QPalette::WindowText) != color) {
            palette.setColor(QPalette::WindowText, color);
            label.setPalette(palette);
        }
    };
    for (QLabel* label : m_sections) {
        tint(*label, colors[Role::Text]);
    }
    for (QLabel* label : m_names) {
        tint(*label, colors[Role::Text2]);
    }
    tint(*m_summary, colors[Role::Text3]);
    tint(*m_problem, colors[Role::AlarmText]);
    m_summary->setFont(fonts::label());
    m_problem->setFont(fonts::label());
    m_model->setFont(fonts::content(QFont::Medium));
}

void RunPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_run != nullptr) {
        applyColors();
    }
}

} // namespace retro::views
